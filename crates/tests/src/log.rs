//! Captures everything that the server logs during the tests, at level trace.

use std::cell::OnceCell;
use std::io::Write;
use std::sync::{LazyLock, Mutex, MutexGuard, Once};

static CAPTURED: LazyLock<Mutex<Vec<u8>>> = LazyLock::new(Mutex::default);

thread_local! {
    /// The length of the log when the test of this thread started its first server. All tests together log gigabytes,
    /// which a test should not search.
    static BEGIN: OnceCell<usize> = const { OnceCell::new() };
}

struct Capture;

impl Write for Capture {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        lock().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

pub(crate) fn capture() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let filter =
            tracing_subscriber::EnvFilter::new("trace,hyper=info,reqwest=info,h2=info,html5ever=info,selectors=info");
        tracing_subscriber::fmt().with_env_filter(filter).with_writer(|| Capture).with_ansi(false).init();
    });
    BEGIN.with(|begin| {
        begin.get_or_init(|| lock().len());
    });
}

/// Returns what this test and those that run at the same time have logged since this one started its first server.
pub fn captured() -> String {
    let begin = BEGIN.with(|begin| *begin.get().expect("this test has started no server on its own thread"));
    String::from_utf8_lossy(&lock()[begin..]).into_owned()
}

fn lock() -> MutexGuard<'static, Vec<u8>> {
    CAPTURED.lock().expect("no test panics while holding it")
}
