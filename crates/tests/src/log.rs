//! Captures everything that the server logs during the tests, at level trace.

use std::io::Write;
use std::sync::{LazyLock, Mutex, Once};

static CAPTURED: LazyLock<Mutex<Vec<u8>>> = LazyLock::new(Mutex::default);

struct Capture;

impl Write for Capture {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        CAPTURED.lock().expect("no test panics while holding it").extend_from_slice(bytes);
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
}

pub fn captured() -> String {
    String::from_utf8_lossy(&CAPTURED.lock().expect("no test panics while holding it")).into_owned()
}
