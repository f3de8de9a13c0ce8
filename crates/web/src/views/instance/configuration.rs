//! The effective settings of a node, for administrators.

use askama::Template;
use holdfast_app::instance::configuration::{EffectiveSetting, SettingSource, SettingValue};

use super::admin_nav::admin_frame;
use crate::layout::Layout;

#[derive(Template)]
#[template(path = "instance/settings.html")]
pub struct ConfigurationPage {
    pub layout: Layout,
    pub sections: Vec<SettingSection>,
}

#[derive(Clone, Debug)]
pub struct SettingSection {
    pub name: String,
    pub settings: Vec<SettingRow>,
}

#[derive(Clone, Debug)]
pub struct SettingRow {
    pub key: String,
    /// The value as it is written in a file, or None for a secret.
    pub value: Option<String>,
    /// Whether the setting is set, for a secret.
    pub is_set: bool,
    pub source: &'static str,
    /// Whether the value is not the default.
    pub is_changed: bool,
}

impl SettingRow {
    fn new(setting: &EffectiveSetting) -> Self {
        let (value, is_set) = match &setting.value {
            SettingValue::Shown(value) => (Some(value.clone()), true),
            SettingValue::Secret { is_set } => (None, *is_set),
        };
        let source = match setting.source {
            SettingSource::Environment => "environment",
            SettingSource::File => "file",
            SettingSource::Default => "default",
        };
        let is_changed = setting.source != SettingSource::Default;
        Self { key: setting.key.clone(), value, is_set, source, is_changed }
    }
}

/// Builds the page. The settings are sorted by section.
pub fn configuration_page(layout: Layout, settings: &[EffectiveSetting]) -> ConfigurationPage {
    let sections = settings.chunk_by(|first, second| first.section == second.section);
    let section = |settings: &[EffectiveSetting]| SettingSection {
        name: settings.first().map(|setting| setting.section.clone()).unwrap_or_default(),
        settings: settings.iter().map(SettingRow::new).collect(),
    };
    ConfigurationPage { layout: admin_frame(layout, "Settings"), sections: sections.map(section).collect() }
}
