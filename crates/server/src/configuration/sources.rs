//! Where settings come from, and showing them.

use std::collections::BTreeMap;
use std::path::Path;

use super::{Configuration, DEFAULT, Invalid};

/// Settings that are lists. In the environment their items stand between commas.
const LISTS: [&str; 3] = ["server.trusted_proxies", "imports.allowed_networks", "hooks.allowed_networks"];

/// The default file, then the operator's, then the environment.
pub(super) fn merge(
    file: Option<&Path>,
    mut environment: config::Map<String, String>,
) -> Result<config::Config, Invalid> {
    let defaults = config::File::from_str(DEFAULT, config::FileFormat::Toml);
    let mut sources = config::Config::builder().add_source(defaults);
    if let Some(path) = file {
        if !path.exists() {
            return Err(Invalid::new("--config", path.display(), "there is no such file", "name a file that exists"));
        }
        if let Err(error) = std::fs::File::open(path) {
            let cure = "let the user of the service read it, for example: chgrp holdfast, chmod 640";
            return Err(Invalid::new("--config", path.display(), &format!("it cannot be read: {error}"), cure));
        }
        sources = sources.add_source(config::File::from(path).format(config::FileFormat::Toml));
    }
    // An empty variable would be a list of one empty text.
    let is_list =
        |name: &String| LISTS.iter().any(|key| *name == format!("HOLDFAST__{}", key.replace('.', "__").to_uppercase()));
    environment.retain(|name, value| !value.is_empty() || !is_list(name));
    let variables = config::Environment::with_prefix("HOLDFAST").prefix_separator("__").separator("__");
    let variables = variables.list_separator(",").try_parsing(true).source(Some(environment));
    let variables = LISTS.into_iter().fold(variables, |variables, key| variables.with_list_parse_key(key));
    sources.add_source(variables).build().map_err(|error| Invalid::from_config(&error, None))
}

/// The settings in force as a file that could be read again, but for the secrets.
pub fn show(file: Option<&Path>) -> Result<String, Invalid> {
    let merged = merge(file, std::env::vars().collect())?;
    Configuration::from_merged(&merged)?;
    let sections: BTreeMap<String, BTreeMap<String, config::Value>> =
        merged.try_deserialize().map_err(|error| Invalid::from_config(&error, None))?;
    let mut text = String::new();
    for (section, keys) in sections {
        text += &format!("[{section}]\n");
        for (key, value) in keys {
            let is_secret = key.ends_with("secret_access_key")
                || section == "secrets"
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
