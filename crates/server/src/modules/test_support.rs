//! Sets directives in tests as a line of a configuration would.

use crate::config::directive::{Level, Scope};
use crate::config::path_key::PathKey;
use crate::config::settings::{GlobalSettings, HandlerSetting, HandlerSettings, HostSettings, Inheritance};
use crate::config::source::Sources;
use crate::config::yaml;
use crate::features::REGISTRY;

/// The settings made by lines so far.
#[derive(Default)]
pub(crate) struct Setting {
    pub(crate) global: GlobalSettings,
    pub(crate) inherited: Inheritance,
    pub(crate) handlers: Vec<HandlerSettings>,
}

impl Setting {
    /// Applies `line`, with the directives of all modules. The error is its message and its help.
    pub(crate) fn set(&mut self, level: Level, line: &str) -> Result<(), String> {
        let root = yaml::read_text("test", line, &mut Sources::default()).map_err(|e| e.message)?;
        for (key, value) in root.mapping().map_err(|e| e.message)? {
            let name = key.text().map_err(|e| e.message)?;
            let directive = REGISTRY.find(name).expect("a known directive");
            assert!(directive.levels.contains(level), "{name} stands on {level:?}");
            let mut scope = Scope {
                registry: &REGISTRY,
                level,
                global: &mut self.global,
                host: Some(&mut HostSettings::default()),
                path: Some(&PathKey::default()),
                inherited: &mut self.inherited,
                handlers: Some(&mut self.handlers),
            };
            (directive.set)(&mut scope, value).map_err(|e| match e.help.as_str() {
                "" => e.message,
                help => format!("{}; {help}", e.message),
            })?;
        }
        Ok(())
    }
}

impl Setting {
    /// The settings of the only handler, which are of that type.
    pub(crate) fn handler<T: HandlerSetting>(&self) -> &T {
        match &self.handlers[..] {
            [handler] => handler.get().expect("settings of that type"),
            other => panic!("{other:?}"),
        }
    }
}

/// The settings after these lines at the path level.
pub(crate) fn set(lines: &[&str]) -> Setting {
    let mut setting = Setting::default();
    for line in lines {
        setting.set(Level::Path, line).expect(line);
    }
    setting
}

/// The error of a line.
pub(crate) fn error(line: &str) -> String {
    Setting::default().set(Level::Path, line).expect_err(line)
}
