//! Under construction.

use crate::config::directive::Directive;

/// The settings of this feature.
#[derive(Clone, Debug, Default)]
pub struct Settings {}
/// `file.dir`
#[derive(Clone, Debug)]
pub struct DirSettings {}
/// `file.file`
#[derive(Clone, Debug)]
pub struct FileSettings {}

/// The directives of this feature.
pub const DIRECTIVES: &[Directive] = &[];
