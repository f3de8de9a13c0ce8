pub mod audit;
pub mod contributor;
pub mod import;
pub mod pack;
pub mod protection;
pub mod ref_change;
pub mod release;
#[expect(clippy::module_inception, reason = "the noun of the domain's name")]
pub mod repository;
pub mod snapshot;
