//! The entries of the access table for deploy keys.

use super::table::{ADMIN, Entry, MASTERS, MASTERS_CREATE, MASTERS_PUBLIC, NEW_KEY, entry};

const MASTERS_PUBLIC_CREATE: &str = "401 401 403 403 403 403 403 201 201 201";

#[rustfmt::skip]
pub const DEPLOY_KEYS: &[Entry] = &[
    entry("GET /deploy_keys", "/deploy_keys", &[], ADMIN),
    entry("GET /projects/:id/deploy_keys", "/projects/{private_project}/deploy_keys", &[], MASTERS),
    entry("GET /projects/:id/deploy_keys/:key_id", "/projects/{private_project}/deploy_keys/{private_deploy_key}", &[], MASTERS),
    entry("POST /projects/:id/deploy_keys", "/projects/{private_project}/deploy_keys", NEW_KEY, MASTERS_CREATE),
    entry("POST /projects/:id/deploy_keys/:key_id/enable", "/projects/{private_project}/deploy_keys/{private_deploy_key}/enable", &[], MASTERS_CREATE),
    entry("DELETE /projects/:id/deploy_keys/:key_id/disable", "/projects/{private_project}/deploy_keys/{private_deploy_key}/disable", &[], MASTERS),
    entry("DELETE /projects/:id/deploy_keys/:key_id", "/projects/{private_project}/deploy_keys/{private_deploy_key}", &[], MASTERS),
    entry("GET /projects/:id/keys", "/projects/{private_project}/keys", &[], MASTERS),
    entry("GET /projects/:id/keys/:key_id", "/projects/{private_project}/keys/{private_deploy_key}", &[], MASTERS),
    entry("POST /projects/:id/keys", "/projects/{private_project}/keys", NEW_KEY, MASTERS_CREATE),
    entry("POST /projects/:id/keys/:key_id/enable", "/projects/{private_project}/keys/{private_deploy_key}/enable", &[], MASTERS_CREATE),
    entry("DELETE /projects/:id/keys/:key_id/disable", "/projects/{private_project}/keys/{private_deploy_key}/disable", &[], MASTERS),
    entry("DELETE /projects/:id/keys/:key_id", "/projects/{private_project}/keys/{private_deploy_key}", &[], MASTERS),
    entry("GET /projects/:id/deploy_keys", "/projects/{public_project}/deploy_keys", &[], MASTERS_PUBLIC),
    entry("GET /projects/:id/deploy_keys/:key_id", "/projects/{public_project}/deploy_keys/{public_deploy_key}", &[], MASTERS_PUBLIC),
    entry("POST /projects/:id/deploy_keys", "/projects/{public_project}/deploy_keys", NEW_KEY, MASTERS_PUBLIC_CREATE),
    entry("POST /projects/:id/deploy_keys/:key_id/enable", "/projects/{public_project}/deploy_keys/{public_deploy_key}/enable", &[], MASTERS_PUBLIC_CREATE),
    entry("DELETE /projects/:id/deploy_keys/:key_id/disable", "/projects/{public_project}/deploy_keys/{public_deploy_key}/disable", &[], MASTERS_PUBLIC),
    entry("DELETE /projects/:id/deploy_keys/:key_id", "/projects/{public_project}/deploy_keys/{public_deploy_key}", &[], MASTERS_PUBLIC),
    entry("GET /projects/:id/keys", "/projects/{public_project}/keys", &[], MASTERS_PUBLIC),
    entry("GET /projects/:id/keys/:key_id", "/projects/{public_project}/keys/{public_deploy_key}", &[], MASTERS_PUBLIC),
    entry("POST /projects/:id/keys", "/projects/{public_project}/keys", NEW_KEY, MASTERS_PUBLIC_CREATE),
    entry("POST /projects/:id/keys/:key_id/enable", "/projects/{public_project}/keys/{public_deploy_key}/enable", &[], MASTERS_PUBLIC_CREATE),
    entry("DELETE /projects/:id/keys/:key_id/disable", "/projects/{public_project}/keys/{public_deploy_key}/disable", &[], MASTERS_PUBLIC),
    entry("DELETE /projects/:id/keys/:key_id", "/projects/{public_project}/keys/{public_deploy_key}", &[], MASTERS_PUBLIC),
];
