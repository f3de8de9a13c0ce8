//! The effective settings of a node.

use holdfast_domain::policy::InstanceAction;

use crate::{Actor, App, Result, access};

/// A setting with its value and its source. The value of a secret is not part of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EffectiveSetting {
    /// The section of the configuration file, such as `server`.
    pub section: String,
    pub key: String,
    pub value: SettingValue,
    pub source: SettingSource,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SettingValue {
    /// The value as it is written in a configuration file.
    Shown(String),
    /// A secret, of which only is known whether it is set.
    Secret { is_set: bool },
}

/// Where a setting comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SettingSource {
    Environment,
    File,
    Default,
}

/// Lists the settings of the node that serves the request, by section.
pub fn list<'a>(app: &'a App, actor: &Actor) -> Result<&'a [EffectiveSetting]> {
    access::authorize_instance(actor, InstanceAction::OperateInstance)?;
    Ok(&app.configuration)
}
