//! Waits for the shell, and leaves nothing of it behind.

use std::io::{BufReader, Read, Write};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

use anyhow::Context as _;
use rustix::io::Errno;
use rustix::process::{Pid, Signal, WaitOptions, WaitStatus, kill_process, kill_process_group, set_child_subreaper};

use super::{INNER, Order};

/// How long a script may clean up after itself once it was told to end.
const GRACE: Duration = Duration::from_millis(1000);

static ENDING: AtomicBool = AtomicBool::new(false);

pub fn run() -> anyhow::Result<u8> {
    let mut input = BufReader::new(std::io::stdin());
    let order = Order::read(&mut input).context("no order came from the runner")?;
    // Whoever loses its parent becomes a child of this process instead of escaping to init.
    set_child_subreaper(Some(rustix::process::getpid()))?;

    // The program that runs now, even if its file has been replaced by a newer one.
    let mut command = Command::new("/proc/self/exe");
    command.args(std::env::args_os().skip(1)).arg(INNER).env_clear().stdin(Stdio::piped());
    let mut child = command.spawn().context("the inner process cannot be started")?;
    let shell = Pid::from_child(&child);
    if let Some(mut stdin) = child.stdin.take() {
        stdin.write_all(&order.to_line()?)?;
    }
    drop(order);

    let (shell_ended, ended) = channel();
    std::thread::spawn(move || {
        // The runner never writes more: what ends is its interest, or the runner.
        std::io::copy(&mut input.by_ref(), &mut std::io::sink()).ok();
        end_gently(shell, &ended);
    });

    let mut code = None;
    loop {
        match rustix::process::wait(WaitOptions::empty()) {
            Ok(Some((pid, status))) => {
                if pid == shell {
                    code = Some(exit_code(status));
                    ENDING.store(true, Ordering::SeqCst);
                    shell_ended.send(()).ok();
                }
                // Every death may hand over children that the last look did not see.
                if ENDING.load(Ordering::SeqCst) {
                    kill_descendants();
                }
            }
            Ok(None) | Err(Errno::INTR) => {}
            // Nobody is left.
            Err(_) => break,
        }
    }
    Ok(code.unwrap_or(1))
}

fn end_gently(shell: Pid, ended: &Receiver<()>) {
    kill_process_group(shell, Signal::TERM).ok();
    if matches!(ended.recv_timeout(GRACE), Err(RecvTimeoutError::Timeout)) {
        ENDING.store(true, Ordering::SeqCst);
        kill_descendants();
    }
}

/// As shells tell of it: 128 and the signal.
fn exit_code(status: WaitStatus) -> u8 {
    let code = status.exit_status().or(status.terminating_signal().map(|signal| 128 + signal)).unwrap_or(1);
    u8::try_from(code).unwrap_or(1)
}

fn kill_descendants() {
    let processes = processes();
    let mut family = vec![rustix::process::getpid().as_raw_nonzero().get()];
    let mut known = 0;
    while known < family.len() {
        let parent = family[known];
        family.extend(processes.iter().filter(|(_, its_parent)| *its_parent == parent).map(|(pid, _)| *pid));
        known += 1;
    }
    for pid in family.into_iter().skip(1).filter_map(Pid::from_raw) {
        kill_process(pid, Signal::KILL).ok();
    }
}

/// Every process and its parent.
fn processes() -> Vec<(i32, i32)> {
    let Ok(entries) = std::fs::read_dir("/proc") else { return Vec::new() };
    entries
        .filter_map(|entry| {
            let pid = entry.ok()?.file_name().to_str()?.parse().ok()?;
            let stat = std::fs::read(format!("/proc/{pid}/stat")).ok()?;
            Some((pid, parent(&stat)?))
        })
        .collect()
}

/// The second field after the name, which stands in brackets and may itself contain anything.
fn parent(stat: &[u8]) -> Option<i32> {
    let after_name = stat.iter().rposition(|byte| *byte == b')')? + 1;
    std::str::from_utf8(&stat[after_name..]).ok()?.split_whitespace().nth(1)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_cannot_lie_about_the_parent() {
        assert_eq!(parent(b"12 (sh) S 7 12 12 0"), Some(7));
        assert_eq!(parent(b"12 (a) S 1 (b) S 7 12 12 0"), Some(7));
        assert_eq!(parent(b"12 (sh"), None);
    }

    #[test]
    fn this_process_has_its_parent() {
        let own = i32::try_from(std::process::id()).unwrap();
        let parent = i32::try_from(std::os::unix::process::parent_id()).unwrap();
        assert!(processes().contains(&(own, parent)));
    }
}
