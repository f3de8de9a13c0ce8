//! Pages of the web interface, read as a browser without scripts reads them.

mod access;
mod addresses;
mod board;
mod budget;
mod code;
mod content;
mod crawl;
mod cross_site;
mod fixtures;
mod form_crawl;
mod headers;
mod hidden;
mod hostile;
mod issue_lists;
mod issues;
mod labels;
mod markdown;
mod pipelines;
mod queries;
mod redirects;
mod session_lifetime;
mod sessions;
mod settings;
mod sign_in;
mod style;
