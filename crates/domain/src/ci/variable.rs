//! Names of variables that builds receive.

/// Prefixes that belong to the server, git, the dynamic linker or the shell.
const RESERVED_PREFIXES: [&str; 6] = ["CI_", "GITLAB_", "GIT_", "LD_", "DYLD_", "BASH_FUNC_"];

/// Variables that make a shell or its programs run or load other code, and variables that describe the environment of a
/// build.
const RESERVED_NAMES: [&str; 11] =
    ["CI", "ENV", "BASH_ENV", "BASHOPTS", "SHELLOPTS", "PROMPT_COMMAND", "PS4", "IFS", "CDPATH", "PATH", "HOME"];

/// Proxy settings, which programs read in upper or lower case.
const PROXIES: [&str; 5] = ["http_proxy", "https_proxy", "ftp_proxy", "all_proxy", "no_proxy"];

/// Settings of runners that are documented for users.
const RUNNER_SETTINGS: [&str; 3] = ["GIT_STRATEGY", "GIT_DEPTH", "GIT_SUBMODULE_STRATEGY"];

/// Returns whether a trigger must not set a variable of this name. The holder of a trigger token may lack the
/// permission to change the project's scripts, and could change what they do with these variables.
pub fn is_reserved(name: &str) -> bool {
    if RUNNER_SETTINGS.contains(&name) {
        return false;
    }
    RESERVED_PREFIXES.iter().any(|prefix| name.starts_with(prefix))
        || RESERVED_NAMES.contains(&name)
        || PROXIES.iter().any(|proxy| name.eq_ignore_ascii_case(proxy))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_change_what_scripts_do_are_reserved() {
        let reserved = [
            "BASH_ENV",
            "ENV",
            "LD_PRELOAD",
            "LD_LIBRARY_PATH",
            "PATH",
            "http_proxy",
            "HTTP_PROXY",
            "Https_Proxy",
            "ALL_PROXY",
            "GIT_SSH_COMMAND",
            "GIT_CONFIG_COUNT",
            "CI",
            "CI_JOB_TOKEN",
            "CI_DEBUG_TRACE",
            "GITLAB_USER_ID",
            "BASH_FUNC_echo%%",
        ];
        for name in reserved {
            assert!(is_reserved(name), "{name}");
        }
    }

    #[test]
    fn ordinary_and_runner_variables_are_not_reserved() {
        for name in ["DEPLOY_TO", "VERSION", "A", "CIRCLE", "environment", "MY_PATH", "GIT_DEPTH", "GIT_STRATEGY"] {
            assert!(!is_reserved(name), "{name}");
        }
    }
}
