//! Copies an application's standard error to the error log.

use crate::modules::upstreams::Pool;
use hayami_client::ErrorSink;
use std::cell::{Cell, RefCell};
use std::rc::Rc;

/// Most bytes logged per request: enough for a few stack traces.
const MOST: usize = 16 * 1024;

/// Most bytes of a line.
const LINE: usize = 2 * 1024;

/// Splits the output into lines and logs them.
struct Words {
    pool: Rc<Pool>,
    /// The upstream that log lines name.
    whose: String,
    line: RefCell<Vec<u8>>,
    left: Cell<usize>,
}

/// The sink for an application's standard error; log lines name `whose`.
pub(super) fn sink(pool: &Rc<Pool>, whose: String) -> ErrorSink {
    let (line, left) = (RefCell::default(), Cell::new(MOST));
    let words = Words { pool: Rc::clone(pool), whose, line, left };
    Rc::new(move |bytes| words.hear(bytes))
}

impl Words {
    fn hear(&self, bytes: &[u8]) {
        let heard = bytes.len().min(self.left.get());
        if heard == 0 {
            return;
        }
        self.left.set(self.left.get() - heard);
        for piece in bytes[..heard].split_inclusive(|byte| *byte == b'\n') {
            let mut line = self.line.borrow_mut();
            line.extend_from_slice(piece);
            if line.ends_with(b"\n") || line.len() > LINE {
                self.say(&line);
                line.clear();
            }
        }
        if self.left.get() == 0 {
            self.say(b"and more, which is omitted");
        }
    }

    #[cold]
    fn say(&self, line: &[u8]) {
        let text = String::from_utf8_lossy(line.trim_ascii());
        if !text.is_empty() {
            let text: String = text.chars().take(LINE).collect();
            self.pool.report_application(format_args!("{}: {text}", self.whose));
        }
    }
}

impl Drop for Words {
    fn drop(&mut self) {
        self.say(&self.line.take());
    }
}
