//! Which instruction set a kernel may use, and how a call gets there.

use std::sync::OnceLock;

/// Names the level that every kernel uses.
const LEVEL_VARIABLE: &str = "NUTHATCH_CPU_LEVEL";

/// An instruction set that this CPU has. There is no way to name one that it has not, which is what makes the `_on`
/// functions safe.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Level(Kind);

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    Scalar,
    #[cfg(target_arch = "x86_64")]
    Avx2,
    #[cfg(target_arch = "x86_64")]
    Avx512,
    #[cfg(target_arch = "aarch64")]
    Neon,
}

impl Level {
    /// The fastest one here, or the one that the environment names ([`Self::from_environment`]). A refused name changes
    /// nothing here: opening a database reports it.
    #[inline]
    pub fn best() -> Self {
        static BEST: OnceLock<Level> = OnceLock::new();
        *BEST.get_or_init(|| {
            let named = Self::from_environment().ok().flatten();
            named.unwrap_or_else(|| *Self::supported().last().expect("scalar is always there"))
        })
    }

    /// Returns the level that `NUTHATCH_CPU_LEVEL` names, to compare levels or to rule one out; `None` if it is not
    /// set.
    ///
    /// # Errors
    /// This CPU has no such level.
    pub fn from_environment() -> Result<Option<Self>, UnknownLevel> {
        match std::env::var_os(LEVEL_VARIABLE) {
            Some(name) => Self::named(&name.to_string_lossy()).map(Some),
            None => Ok(None),
        }
    }

    /// `scalar`, `avx2`, `avx512` or `neon`.
    fn named(name: &str) -> Result<Self, UnknownLevel> {
        let supported = Self::supported();
        let found = supported.iter().find(|level| level.name() == name);
        found.copied().ok_or_else(|| UnknownLevel { name: name.to_string(), supported })
    }

    fn name(self) -> &'static str {
        match self.0 {
            Kind::Scalar => "scalar",
            #[cfg(target_arch = "x86_64")]
            Kind::Avx2 => "avx2",
            #[cfg(target_arch = "x86_64")]
            Kind::Avx512 => "avx512",
            #[cfg(target_arch = "aarch64")]
            Kind::Neon => "neon",
        }
    }

    /// Every one that this CPU has, slowest first.
    pub fn supported() -> Vec<Self> {
        #[allow(unused_mut)]
        let mut levels = vec![Self(Kind::Scalar)];
        #[cfg(target_arch = "x86_64")]
        if is_x86_feature_detected!("avx2")
            && is_x86_feature_detected!("fma")
            && is_x86_feature_detected!("f16c")
            && is_x86_feature_detected!("popcnt")
        {
            levels.push(Self(Kind::Avx2));
            if is_x86_feature_detected!("avx512f")
                && is_x86_feature_detected!("avx512bw")
                && is_x86_feature_detected!("avx512vl")
                && is_x86_feature_detected!("avx512vnni")
            {
                levels.push(Self(Kind::Avx512));
            }
        }
        #[cfg(target_arch = "aarch64")]
        if std::arch::is_aarch64_feature_detected!("neon") {
            levels.push(Self(Kind::Neon));
        }
        levels
    }

    #[inline]
    pub(crate) fn kind(self) -> Kind {
        self.0
    }
}

/// The environment names a level that this CPU does not have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownLevel {
    name: String,
    supported: Vec<Level>,
}

impl std::fmt::Display for UnknownLevel {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let names: Vec<_> = self.supported.iter().map(|level| level.name()).collect();
        let Self { name, .. } = self;
        write!(out, "{LEVEL_VARIABLE} is {name:?}; this CPU has {}; name one of these, or unset it", names.join(", "))
    }
}

impl std::error::Error for UnknownLevel {}

impl std::fmt::Display for Level {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.pad(match self.0 {
            Kind::Scalar => "scalar",
            #[cfg(target_arch = "x86_64")]
            Kind::Avx2 => "avx2+fma",
            #[cfg(target_arch = "x86_64")]
            Kind::Avx512 => "avx512+vnni",
            #[cfg(target_arch = "aarch64")]
            Kind::Neon => "neon",
        })
    }
}

/// Runs the implementation of one level. The calls are sound because a `Level` exists only where the CPU has it.
macro_rules! dispatch {
    ($level:expr, $kernel:ident($($argument:expr),*)) => {
        match $level.kind() {
            $crate::level::Kind::Scalar => $crate::scalar::$kernel($($argument),*),
            // SAFETY: a `Level` of this kind is only made after the CPU reported AVX2, FMA, F16C and POPCNT; lengths were checked
            // above.
            #[cfg(target_arch = "x86_64")]
            $crate::level::Kind::Avx2 => unsafe { $crate::avx2::$kernel($($argument),*) },
            // SAFETY: a `Level` of this kind is only made after the CPU reported AVX-512 F, BW, VL and VNNI on top of AVX2;
            // lengths were checked above.
            #[cfg(target_arch = "x86_64")]
            $crate::level::Kind::Avx512 => unsafe { $crate::avx512::$kernel($($argument),*) },
            // SAFETY: a `Level` of this kind is only made after the CPU reported NEON; lengths were checked above.
            #[cfg(target_arch = "aarch64")]
            $crate::level::Kind::Neon => unsafe { $crate::neon::$kernel($($argument),*) },
        }
    };
}
pub(crate) use dispatch;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_level_is_found_by_its_name_and_another_name_is_refused_with_the_list() {
        for level in Level::supported() {
            assert_eq!(Level::named(level.name()), Ok(level));
        }
        let refusal = Level::named("mmx").unwrap_err().to_string();
        assert!(refusal.contains("\"mmx\"") && refusal.contains("scalar") && refusal.contains("unset it"), "{refusal}");
    }
}
