//! Merges the sources of settings, and renders the effective settings.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use config::ConfigError;
use holdfast_app::instance::configuration::{EffectiveSetting, SettingSource, SettingValue};

use super::{Configuration, DEFAULT_TOML, InvalidSetting};

/// Settings that are lists; see [`parse_list`] for their form in environment variables.
const LIST_KEYS: [&str; 3] = ["server.trusted_proxies", "imports.allowed_networks", "hooks.allowed_networks"];

/// Merges the default file, the operator's file and the environment; later sources override earlier ones.
pub(super) fn merge(
    file: Option<&Path>,
    mut environment: config::Map<String, String>,
) -> Result<config::Config, InvalidSetting> {
    let defaults = config::File::from_str(DEFAULT_TOML, config::FileFormat::Toml);
    let mut sources = config::Config::builder().add_source(defaults);
    if let Some(path) = file {
        let text = std::fs::read_to_string(path).map_err(|error| match error.kind() {
            std::io::ErrorKind::NotFound => InvalidSetting::new(
                "--config",
                path.display(),
                "the file does not exist",
                "select an existing file with --config or HOLDFAST_CONFIG",
            ),
            _ => InvalidSetting::new(
                "--config",
                path.display(),
                &format!("it cannot be read: {error}"),
                "run this as the user of the service, and give that user read access, for example with chgrp holdfast \
                 and chmod 640; with an empty HOLDFAST_CONFIG no file is read",
            ),
        })?;
        sources = sources.add_source(config::File::from_str(&text, config::FileFormat::Toml));
    }
    for key in LIST_KEYS {
        let name = format!("HOLDFAST__{}", key.replace('.', "__"));
        // An empty variable counts as not set.
        let values = environment.extract_if(|other, _| other.eq_ignore_ascii_case(&name));
        if let Some((_, value)) = values.last().filter(|(_, value)| !value.is_empty()) {
            let overridden = sources.set_override(key, parse_list(&value));
            sources = overridden.map_err(|error| InvalidSetting::from_config(&error, None, file))?;
        }
    }
    let variables = config::Environment::with_prefix("HOLDFAST").prefix_separator("__").separator("__");
    let merged = sources.add_source(variables.try_parsing(true).source(Some(environment))).build();
    merged.map_err(|error| match (&error, file) {
        (ConfigError::FileParse { cause, .. }, Some(path)) => InvalidSetting::invalid_file(path, cause.as_ref()),
        _ => InvalidSetting::from_config(&error, None, file),
    })
}

/// Parses a list in an environment variable: `a,b`, or as in the file, `["a", "b"]`. Quotes and brackets may be missing,
/// because shells and tools such as docker remove them.
fn parse_list(text: &str) -> Vec<String> {
    let text = text.trim();
    let items = text.strip_prefix('[').and_then(|inner| inner.strip_suffix(']')).unwrap_or(text);
    let items = items.split(',').map(|item| item.trim().trim_matches(['"', '\'']));
    items.filter(|item| !item.is_empty()).map(str::to_owned).collect()
}

/// Renders the effective settings as a configuration file, with secrets hidden.
pub fn show(file: Option<&Path>) -> Result<String, InvalidSetting> {
    let merged = merge(file, std::env::vars().collect())?;
    Configuration::from_merged(&merged, file)?;
    let sections: BTreeMap<String, BTreeMap<String, config::Value>> =
        merged.try_deserialize().map_err(|error| InvalidSetting::from_config(&error, None, file))?;
    let mut text = String::new();
    for (section, keys) in sections {
        text += &format!("[{section}]\n");
        for (key, value) in keys {
            let value = match value.kind {
                config::ValueKind::String(text) if is_secret(&section, &key) && !text.is_empty() => {
                    "\"(hidden)\"".to_owned()
                }
                kind => render(kind),
            };
            text += &format!("{key} = {value}\n");
        }
        text.push('\n');
    }
    Ok(text)
}

fn is_secret(section: &str, key: &str) -> bool {
    key.ends_with("secret_access_key") || section == "encryption" || section == "database" && key.ends_with("url")
}

/// Renders a value as it is written in a configuration file.
fn render(value: config::ValueKind) -> String {
    match value {
        config::ValueKind::String(text) => format!("{text:?}"),
        config::ValueKind::Array(items) => {
            format!("{:?}", items.iter().map(ToString::to_string).collect::<Vec<_>>())
        }
        other => other.to_string(),
    }
}

/// Returns the effective settings with their sources, for the page of administrators. Of secrets, and of addresses that
/// can contain a password, only is returned whether they are set.
pub fn effective_settings(file: Option<&Path>) -> Result<Vec<EffectiveSetting>, InvalidSetting> {
    effective_settings_from(file, std::env::vars().collect())
}

fn effective_settings_from(
    file: Option<&Path>,
    environment: config::Map<String, String>,
) -> Result<Vec<EffectiveSetting>, InvalidSetting> {
    type Sections = BTreeMap<String, BTreeMap<String, config::Value>>;
    let convert_error = |error: ConfigError| InvalidSetting::from_config(&error, None, file);
    let variables: BTreeSet<String> = environment.keys().map(|name| name.to_ascii_uppercase()).collect();
    let merged = merge(file, environment)?;
    let text = file.map(std::fs::read_to_string).transpose().ok().flatten().unwrap_or_default();
    let own = config::Config::builder().add_source(config::File::from_str(&text, config::FileFormat::Toml));
    let in_file: Sections = own.build().and_then(config::Config::try_deserialize).map_err(convert_error)?;
    let sections: Sections = merged.try_deserialize().map_err(convert_error)?;
    let mut settings = Vec::new();
    for (section, keys) in sections {
        for (key, value) in keys {
            let variable = format!("HOLDFAST__{section}__{key}").to_ascii_uppercase();
            let source = match in_file.get(&section).is_some_and(|keys| keys.contains_key(&key)) {
                _ if variables.contains(&variable) => SettingSource::Environment,
                true => SettingSource::File,
                false => SettingSource::Default,
            };
            let value = match value.kind {
                config::ValueKind::String(text)
                    if is_secret(&section, &key) || text.contains("://") && text.contains('@') =>
                {
                    SettingValue::Secret { is_set: !text.is_empty() }
                }
                kind if is_secret(&section, &key) => {
                    SettingValue::Secret { is_set: !matches!(kind, config::ValueKind::Nil) }
                }
                kind => SettingValue::Shown(render(kind)),
            };
            settings.push(EffectiveSetting { section: section.clone(), key, value, source });
        }
    }
    Ok(settings)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trusted_proxies(value: &str) -> Result<Vec<String>, InvalidSetting> {
        let variables = [("HOLDFAST__SERVER__TRUSTED_PROXIES".to_owned(), value.to_owned())];
        let configuration = Configuration::from_merged(&merge(None, variables.into())?, None)?;
        Ok(configuration.server.trusted_proxies.iter().map(ToString::to_string).collect())
    }

    #[test]
    fn lists_in_environment_variables_may_have_brackets_and_quotes() {
        let forms = [
            "10.0.0.0/8,::1/128",
            "10.0.0.0/8, ::1/128",
            "[10.0.0.0/8, ::1/128]",
            "[\"10.0.0.0/8\",\"::1/128\"]",
            " ['10.0.0.0/8', '::1/128',] ",
        ];
        for form in forms {
            assert_eq!(trusted_proxies(form).unwrap(), ["10.0.0.0/8", "::1/128"], "{form}");
        }
        for form in ["", "[]"] {
            assert_eq!(trusted_proxies(form).unwrap(), [""; 0], "{form}");
        }
        let text = trusted_proxies("[10.0.0.0/8, proxy]").unwrap_err().to_string();
        assert!(text.contains("server.trusted_proxies") && text.contains("fix: "), "{text}");
    }

    #[test]
    fn effective_settings_have_a_source_and_no_secrets() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("holdfast.toml");
        let text = "[database]\nurl = \"postgres://u:hunter42@h/d\"\n[accounts]\nprojects_limit = 7\n[hooks]\nconcurrency = 3\n";
        std::fs::write(&file, text).unwrap();
        let variables = [
            ("HOLDFAST__HOOKS__CONCURRENCY".to_owned(), "5".to_owned()),
            ("HOLDFAST__ENCRYPTION__KEY".to_owned(), "hunter42".to_owned()),
            ("HOLDFAST__TELEMETRY__OTLP_ENDPOINT".to_owned(), "http://u:hunter42@h".to_owned()),
        ];
        let settings = effective_settings_from(Some(&file), variables.into()).unwrap();
        let find = |section: &str, key: &str| {
            let found = settings.iter().find(|setting| setting.section == section && setting.key == key).unwrap();
            (found.value.clone(), found.source)
        };
        let shown = |text: &str| SettingValue::Shown(text.to_owned());
        let secret = SettingValue::Secret { is_set: true };
        assert_eq!(find("accounts", "projects_limit"), (shown("7"), SettingSource::File));
        assert_eq!(find("hooks", "concurrency"), (shown("5"), SettingSource::Environment));
        assert_eq!(find("accounts", "confirm_minutes").1, SettingSource::Default);
        assert_eq!(find("database", "url"), (secret.clone(), SettingSource::File));
        assert_eq!(find("encryption", "key"), (secret.clone(), SettingSource::Environment));
        assert_eq!(find("telemetry", "otlp_endpoint"), (secret, SettingSource::Environment));
        assert_eq!(find("database", "direct_url"), (SettingValue::Secret { is_set: false }, SettingSource::Default));
        assert!(!format!("{settings:?}").contains("hunter42"));
    }

    #[test]
    fn wrong_types_are_reported_in_plain_words() {
        for (name, value, expected) in [
            (
                "HOLDFAST__SSH__EXTERNAL_PORT",
                "99999",
                "setting ssh.external_port is 99999: it must be a number from 0 to 65535\n",
            ),
            (
                "HOLDFAST__WORKER__CONCURRENCY",
                "-1",
                "setting worker.concurrency is -1: it must be a whole number from 0\n",
            ),
            (
                "HOLDFAST__WORKER__CONCURRENCY",
                "few",
                "setting worker.concurrency is \"few\": it must be a whole number\n",
            ),
            (
                "HOLDFAST__GIT__WARM_ON_START",
                "maybe",
                "setting git.warm_on_start is \"maybe\": it must be true or false\n",
            ),
            (
                "HOLDFAST__SERVER__EXTERNAL_URL",
                "code.example.com",
                "setting server.external_url is code.example.com: it must begin with https:// or http://\n",
            ),
            (
                "HOLDFAST__STORAGE__URL",
                "objects",
                "setting storage.url is objects: it must begin with file:// or s3://\n",
            ),
        ] {
            let merged = merge(None, [(name.to_owned(), value.to_owned())].into()).unwrap();
            let text = Configuration::from_merged(&merged, None).unwrap_err().to_string();
            assert!(text.starts_with(expected), "{text}");
        }
    }

    /// The quoted source text of the parser is left out, because it can contain secrets.
    #[test]
    fn a_broken_file_is_reported_with_its_name_the_line_and_a_fix() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("broken.toml");
        for (content, line, problem) in [
            ("[server]\nlisten = hunter42\n", "line 2", "quote"),
            ("[database]\n\nurl = \"hunter42\n", "line 3", "string"),
            ("[server\nlisten = \"hunter42\"\n", "line 1", "table"),
        ] {
            std::fs::write(&file, content).unwrap();
            let error = merge(Some(&file), config::Map::new()).unwrap_err();
            let text = error.to_string();
            assert!(text.contains(&file.display().to_string()) && text.contains(line), "{text}");
            assert!(text.contains(problem) && text.contains("fix: correct this line"), "{text}");
            assert!(!format!("{error} {error:?}").contains("hunter42"), "{text}");
        }
    }
}
