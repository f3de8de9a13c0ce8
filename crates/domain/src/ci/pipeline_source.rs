//! What a pipeline was created by.

/// What a pipeline was created by, as the API shows it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PipelineSource {
    #[default]
    Push,
    /// A user, on a page.
    Web,
    Api,
    Trigger,
    /// A commit status of an external service.
    External,
}

impl PipelineSource {
    const ALL: [Self; 5] = [Self::Push, Self::Web, Self::Api, Self::Trigger, Self::External];

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Push => "push",
            Self::Web => "web",
            Self::Api => "api",
            Self::Trigger => "trigger",
            Self::External => "external",
        }
    }

    pub fn from_str_opt(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|source| source.as_str() == word)
    }
}

/// The error for a text that is no source of a pipeline.
#[derive(Debug, thiserror::Error)]
#[error("{0:?} is not a source of pipelines")]
pub struct UnknownPipelineSource(String);

impl TryFrom<String> for PipelineSource {
    type Error = UnknownPipelineSource;

    fn try_from(word: String) -> Result<Self, UnknownPipelineSource> {
        Self::from_str_opt(&word).ok_or(UnknownPipelineSource(word))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sources_are_read_as_written() {
        for source in PipelineSource::ALL {
            assert_eq!(PipelineSource::from_str_opt(source.as_str()), Some(source));
        }
        assert_eq!(PipelineSource::from_str_opt("other"), None);
    }
}
