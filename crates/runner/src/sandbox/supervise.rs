//! The supervisor: waits for the shell, and kills all of its descendants when it has exited or must end.

use std::io::{BufReader, Read, Write};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

use anyhow::Context as _;
use rustix::io::Errno;
use rustix::process::{Pid, Signal, WaitOptions, WaitStatus, kill_process, kill_process_group, set_child_subreaper};

use super::{INNER_ARGUMENT, SandboxSpec};

/// How long a script may run cleanup code between SIGTERM and SIGKILL.
const TERMINATE_GRACE: Duration = Duration::from_millis(1000);

static IS_ENDING: AtomicBool = AtomicBool::new(false);

pub fn run() -> anyhow::Result<u8> {
    let mut input = BufReader::new(std::io::stdin());
    let spec = SandboxSpec::read(&mut input).context("no instructions from the runner")?;
    // Orphaned descendants become children of this process instead of init's.
    set_child_subreaper(Some(rustix::process::getpid()))?;

    // This refers to the running program even if its file has been replaced by an upgrade.
    let mut command = Command::new("/proc/self/exe");
    command.args(std::env::args_os().skip(1)).arg(INNER_ARGUMENT).env_clear().stdin(Stdio::piped());
    let mut child = command.spawn().context("the sandboxed process cannot be started")?;
    let shell = Pid::from_child(&child);
    if let Some(mut stdin) = child.stdin.take() {
        stdin.write_all(&spec.to_json_line()?)?;
    }
    drop(spec);

    let (shell_ended, ended) = channel();
    std::thread::spawn(move || {
        // The runner writes nothing more. End of input means that it closed the pipe or exited.
        std::io::copy(&mut input.by_ref(), &mut std::io::sink()).ok();
        terminate_gracefully(shell, &ended);
    });

    let mut code = None;
    loop {
        match rustix::process::wait(WaitOptions::empty()) {
            Ok(Some((pid, status))) => {
                if pid == shell {
                    code = Some(exit_code(status));
                    IS_ENDING.store(true, Ordering::SeqCst);
                    shell_ended.send(()).ok();
                }
                // Each exit can reparent processes that the previous scan missed.
                if IS_ENDING.load(Ordering::SeqCst) {
                    kill_descendants();
                }
            }
            Ok(None) | Err(Errno::INTR) => {}
            // There are no more children.
            Err(_) => break,
        }
    }
    Ok(code.unwrap_or(1))
}

fn terminate_gracefully(shell: Pid, ended: &Receiver<()>) {
    kill_process_group(shell, Signal::TERM).ok();
    if matches!(ended.recv_timeout(TERMINATE_GRACE), Err(RecvTimeoutError::Timeout)) {
        IS_ENDING.store(true, Ordering::SeqCst);
        kill_descendants();
    }
}

/// Returns the exit code; for a process that was killed by a signal, 128 plus the signal number, as shells do.
fn exit_code(status: WaitStatus) -> u8 {
    let code = status.exit_status().or(status.terminating_signal().map(|signal| 128 + signal)).unwrap_or(1);
    u8::try_from(code).unwrap_or(1)
}

fn kill_descendants() {
    let processes = list_processes();
    let mut pids = vec![rustix::process::getpid().as_raw_nonzero().get()];
    let mut index = 0;
    while index < pids.len() {
        let parent = pids[index];
        pids.extend(processes.iter().filter(|(_, its_parent)| *its_parent == parent).map(|(pid, _)| *pid));
        index += 1;
    }
    for pid in pids.into_iter().skip(1).filter_map(Pid::from_raw) {
        kill_process(pid, Signal::KILL).ok();
    }
}

/// Lists all processes as pairs of process id and parent process id.
fn list_processes() -> Vec<(i32, i32)> {
    let Ok(entries) = std::fs::read_dir("/proc") else { return Vec::new() };
    entries
        .filter_map(|entry| {
            let pid = entry.ok()?.file_name().to_str()?.parse().ok()?;
            let stat = std::fs::read(format!("/proc/{pid}/stat")).ok()?;
            Some((pid, parse_parent(&stat)?))
        })
        .collect()
}

/// Parses the parent process id from `/proc/<pid>/stat`. It is the second field after the process name, which is in
/// parentheses and can itself contain parentheses and spaces.
fn parse_parent(stat: &[u8]) -> Option<i32> {
    let after_name = stat.iter().rposition(|byte| *byte == b')')? + 1;
    std::str::from_utf8(&stat[after_name..]).ok()?.split_whitespace().nth(1)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn process_names_cannot_spoof_the_parent_id() {
        assert_eq!(parse_parent(b"12 (sh) S 7 12 12 0"), Some(7));
        assert_eq!(parse_parent(b"12 (a) S 1 (b) S 7 12 12 0"), Some(7));
        assert_eq!(parse_parent(b"12 (sh"), None);
    }

    #[test]
    fn the_process_list_contains_this_process() {
        let own = i32::try_from(std::process::id()).unwrap();
        let parent = i32::try_from(std::os::unix::process::parent_id()).unwrap();
        assert!(list_processes().contains(&(own, parent)));
    }
}
