//! Renders the lines of a script as one shell script.

use std::path::{Path, PathBuf};

/// Returns the path of bash, or of sh if bash is not installed.
pub fn find_shell() -> PathBuf {
    let shells = ["/bin/bash", "/usr/bin/bash", "/usr/local/bin/bash"].map(Path::new);
    shells.into_iter().find(|path| path.exists()).unwrap_or(Path::new("/bin/sh")).to_owned()
}

/// Renders a script that echoes every line before it runs it, and stops at the first failure.
pub fn render(lines: &[String]) -> String {
    // Not every sh supports pipefail.
    let mut text = String::from("if (set -o pipefail) 2>/dev/null; then set -o pipefail; fi\nset -e\n");
    for line in lines {
        let shown = quote(&format!("\x1b[32;1m$ {}\x1b[0;m", line.trim_end()));
        text += &format!("printf '%s\\n' {shown}\n{line}\n");
    }
    text
}

/// Quotes a text as a single word for a shell.
pub fn quote(word: &str) -> String {
    format!("'{}'", word.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(shell: &str, lines: &[&str]) -> (Option<i32>, String) {
        let lines: Vec<String> = lines.iter().map(|line| (*line).to_owned()).collect();
        let output = std::process::Command::new(shell).arg("-c").arg(render(&lines)).output().unwrap();
        let shown = String::from_utf8(output.stdout).unwrap().replace("\x1b[32;1m", "").replace("\x1b[0;m", "");
        (output.status.code(), shown)
    }

    #[test]
    fn commands_are_echoed_and_the_first_failure_ends_the_script() {
        for shell in ["/bin/sh", "/bin/bash"] {
            let (code, shown) = run(shell, &["echo 'it'\"'\"'s'", "cd /", "pwd", "(exit 3)", "echo never"]);
            assert_eq!(code, Some(3));
            assert_eq!(shown, "$ echo 'it'\"'\"'s'\nit's\n$ cd /\n$ pwd\n/\n$ (exit 3)\n");
        }
    }

    #[test]
    fn a_failure_within_a_pipe_fails_the_script() {
        assert_eq!(run("/bin/bash", &["false | cat"]).0, Some(1));
    }

    #[test]
    fn script_entries_may_span_lines() {
        let (code, shown) = run("/bin/sh", &["if true\nthen echo yes\nfi", "cat <<END\n$((1+1))\nEND\n"]);
        assert_eq!(code, Some(0));
        assert!(shown.contains("yes\n") && shown.ends_with("2\n"), "{shown}");
    }
}
