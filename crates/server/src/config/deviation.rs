//! Where our defaults are not h2o's, and why.

/// A default of ours that is not h2o's.
pub(super) struct Deviation {
    /// The directive.
    pub(super) name: &'static str,
    /// The default of h2o.
    pub(super) h2o: &'static str,
    /// Why ours differs.
    pub(super) reason: &'static str,
}

/// All of them, in the order of the manual.
pub(super) const DEVIATIONS: &[Deviation] = &[
    Deviation {
        name: "num-threads",
        h2o: "the number of CPUs",
        reason: "A container or a pinned process may use fewer CPUs than there are; more workers than usable \
                 CPUs only take turns.",
    },
    Deviation {
        name: "tcp-reuseport",
        h2o: "OFF",
        reason: "With a queue of its own, no worker is woken for a connection that another one takes.",
    },
    Deviation {
        name: "max-connections",
        h2o: "1024",
        reason: "The open-files limit says what the machine allows, and is raised to its maximum at the start; \
                 a fixed number is wrong on every machine but one.",
    },
    Deviation { name: "server-name", h2o: "h2o/VERSION", reason: "It is another server." },
];
