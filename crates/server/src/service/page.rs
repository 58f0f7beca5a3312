//! The server's own short error texts.

use hayami_http::{Response, Status};

/// The reason phrase of `status` on a line, with `hint` behind a colon if there is one.
pub fn plain(status: Status, hint: &str) -> Response {
    let separator = if hint.is_empty() { "" } else { ": " };
    Response::text(status, format!("{}{separator}{hint}\n", status.reason()))
}
