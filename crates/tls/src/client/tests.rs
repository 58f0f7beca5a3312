//! Both roles, joined by two buffers.
