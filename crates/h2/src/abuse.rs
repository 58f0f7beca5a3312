//! Budgets against peers that make us work for nothing.

/// What was counted so far in a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Abuse {
    nothing: u8,
}
