//! Merges the sources of settings, and renders the effective settings.

use std::collections::BTreeMap;
use std::path::Path;

use super::{Configuration, DEFAULT_TOML, InvalidSetting};

/// Settings that are lists. In environment variables their items are separated by commas.
const LIST_KEYS: [&str; 3] = ["server.trusted_proxies", "imports.allowed_networks", "hooks.allowed_networks"];

/// Merges the default file, the operator's file and the environment; later sources override earlier ones.
pub(super) fn merge(
    file: Option<&Path>,
    mut environment: config::Map<String, String>,
) -> Result<config::Config, InvalidSetting> {
    let defaults = config::File::from_str(DEFAULT_TOML, config::FileFormat::Toml);
    let mut sources = config::Config::builder().add_source(defaults);
    if let Some(path) = file {
        if !path.exists() {
            return Err(InvalidSetting::new(
                "--config",
                path.display(),
                "the file does not exist",
                "select an existing file with --config or HOLDFAST_CONFIG",
            ));
        }
        if let Err(error) = std::fs::File::open(path) {
            let fix = "give the user of the service read access, for example with chgrp holdfast and chmod 640";
            return Err(InvalidSetting::new("--config", path.display(), &format!("it cannot be read: {error}"), fix));
        }
        sources = sources.add_source(config::File::from(path).format(config::FileFormat::Toml));
    }
    // An empty variable would be parsed as a list with one empty string.
    let is_list = |name: &String| {
        LIST_KEYS.iter().any(|key| *name == format!("HOLDFAST__{}", key.replace('.', "__").to_uppercase()))
    };
    environment.retain(|name, value| !value.is_empty() || !is_list(name));
    let variables = config::Environment::with_prefix("HOLDFAST").prefix_separator("__").separator("__");
    let variables = variables.list_separator(",").try_parsing(true).source(Some(environment));
    let variables = LIST_KEYS.into_iter().fold(variables, |variables, key| variables.with_list_parse_key(key));
    sources.add_source(variables).build().map_err(|error| InvalidSetting::from_config(&error, None))
}

/// Renders the effective settings as a configuration file, with secrets hidden.
pub fn show(file: Option<&Path>) -> Result<String, InvalidSetting> {
    let merged = merge(file, std::env::vars().collect())?;
    Configuration::from_merged(&merged)?;
    let sections: BTreeMap<String, BTreeMap<String, config::Value>> =
        merged.try_deserialize().map_err(|error| InvalidSetting::from_config(&error, None))?;
    let mut text = String::new();
    for (section, keys) in sections {
        text += &format!("[{section}]\n");
        for (key, value) in keys {
            let is_secret = key.ends_with("secret_access_key")
                || section == "encryption"
                || section == "database" && key.ends_with("url");
            let value = match value.kind {
                config::ValueKind::String(text) if is_secret && !text.is_empty() => "\"(hidden)\"".to_owned(),
                config::ValueKind::String(text) => format!("{text:?}"),
                config::ValueKind::Array(items) => {
                    format!("{:?}", items.iter().map(ToString::to_string).collect::<Vec<_>>())
                }
                other => other.to_string(),
            };
            text += &format!("{key} = {value}\n");
        }
        text.push('\n');
    }
    Ok(text)
}
