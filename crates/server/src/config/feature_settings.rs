//! The settings at a level of the configuration: one value of each type that features define.
//!
//! The loader, the server core and other features carry these values without knowing their types: a new feature adds a
//! type, not a field.

use std::any::{Any, TypeId};
use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, LazyLock, PoisonError, RwLock};

/// The settings of a feature at one level of the configuration. The default applies where nothing is configured.
pub trait FeatureSetting: Any + Clone + Default + fmt::Debug + Send + Sync {
    /// The indexes of upstream groups that requests are sent to.
    fn upstream_groups(&self) -> Vec<usize> {
        Vec::new()
    }

    /// Whether requests make the server connect to other servers.
    fn connects(&self) -> bool {
        !self.upstream_groups().is_empty()
    }
}

/// One value of each type of settings. Values that no directive has changed take no space, and a clone shares the
/// values until either changes them.
#[derive(Clone, Default)]
pub struct FeatureSettings(Vec<(TypeId, Arc<dyn Value>)>);

impl FeatureSettings {
    /// The value of that type: as set by directives, otherwise its default.
    pub fn get<T: FeatureSetting>(&self) -> &T {
        let value = self.0.iter().find(|(id, _)| *id == TypeId::of::<T>());
        let value = value.and_then(|(_, value)| (**value).as_any().downcast_ref());
        value.unwrap_or_else(|| default::<T>())
    }

    /// The value of that type, for changes.
    pub fn get_mut<T: FeatureSetting>(&mut self) -> &mut T {
        let id = TypeId::of::<T>();
        let at = self.0.iter().position(|(own, _)| *own == id).unwrap_or_else(|| {
            self.0.push((id, Arc::new(T::default())));
            self.0.len() - 1
        });
        let value = &mut self.0[at].1;
        if Arc::get_mut(value).is_none() {
            *value = value.duplicate();
        }
        let value = Arc::get_mut(value).and_then(|value| value.as_any_mut().downcast_mut());
        value.expect("a value that was just made or copied is not shared, and has the type of its entry")
    }

    /// The indexes of upstream groups that requests are sent to.
    pub fn upstream_groups(&self) -> impl Iterator<Item = usize> {
        self.0.iter().flat_map(|(_, value)| value.upstream_groups())
    }

    /// Whether requests make the server connect to other servers.
    pub fn connect(&self) -> bool {
        self.0.iter().any(|(_, value)| value.connects())
    }
}

impl fmt::Debug for FeatureSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.0.iter().map(|(_, value)| value)).finish()
    }
}

/// A value of any type of settings.
trait Value: fmt::Debug + Send + Sync {
    fn duplicate(&self) -> Arc<dyn Value>;
    fn as_any(&self) -> &dyn Any;
    fn as_any_mut(&mut self) -> &mut dyn Any;
    fn upstream_groups(&self) -> Vec<usize>;
    fn connects(&self) -> bool;
}

impl<T: FeatureSetting> Value for T {
    fn duplicate(&self) -> Arc<dyn Value> {
        Arc::new(self.clone())
    }

    fn as_any(&self) -> &dyn Any {
        self
    }

    fn as_any_mut(&mut self) -> &mut dyn Any {
        self
    }

    fn upstream_groups(&self) -> Vec<usize> {
        FeatureSetting::upstream_groups(self)
    }

    fn connects(&self) -> bool {
        FeatureSetting::connects(self)
    }
}

/// The default value of that type. There is one for the whole process; it is never freed.
#[cold]
fn default<T: FeatureSetting>() -> &'static T {
    type Defaults = RwLock<HashMap<TypeId, &'static (dyn Any + Send + Sync)>>;
    static DEFAULTS: LazyLock<Defaults> = LazyLock::new(Defaults::default);
    let known = DEFAULTS.read().unwrap_or_else(PoisonError::into_inner).get(&TypeId::of::<T>()).copied();
    let value = known.unwrap_or_else(|| {
        let mut defaults = DEFAULTS.write().unwrap_or_else(PoisonError::into_inner);
        *defaults.entry(TypeId::of::<T>()).or_insert_with(|| Box::leak(Box::new(T::default())))
    });
    value.downcast_ref().expect("each default is stored under its own type")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Clone, Debug, PartialEq, Eq)]
    struct Limit(u32);

    impl FeatureSetting for Limit {}

    impl Default for Limit {
        fn default() -> Self {
            Self(7)
        }
    }

    #[derive(Clone, Debug, Default, PartialEq, Eq)]
    struct Names(Vec<&'static str>);

    impl FeatureSetting for Names {}

    #[test]
    fn a_value_is_its_types_default_until_it_is_changed() {
        let mut settings = FeatureSettings::default();
        assert_eq!(settings.get::<Limit>(), &Limit(7));
        settings.get_mut::<Names>().0.push("a");
        assert_eq!((settings.get(), settings.get()), (&Limit(7), &Names(vec!["a"])));
        settings.get_mut::<Limit>().0 += 1;
        assert_eq!((settings.get(), settings.get()), (&Limit(8), &Names(vec!["a"])));
    }

    #[test]
    fn a_change_of_a_clone_leaves_the_original_alone_and_shares_the_rest() {
        let mut outer = FeatureSettings::default();
        outer.get_mut::<Names>().0.push("outer");
        outer.get_mut::<Limit>().0 = 1;
        let mut inner = outer.clone();
        inner.get_mut::<Names>().0.push("inner");
        assert_eq!(outer.get::<Names>().0, ["outer"]);
        assert_eq!(inner.get::<Names>().0, ["outer", "inner"]);
        assert!(std::ptr::eq(outer.get::<Limit>(), inner.get::<Limit>()));
    }
}
