//! Pages of the web interface, read as a browser without scripts reads them.

mod access;
mod addresses;
mod crawl;
mod cross_site;
mod fixtures;
mod headers;
mod hidden;
mod hostile;
mod redirects;
mod session_lifetime;
mod sessions;
mod settings;
mod sign_in;
