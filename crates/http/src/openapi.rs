//! Builds the OpenAPI document from the table of routes, and serves it with a page that displays it.

use std::sync::Arc;

use axum::http::{HeaderValue, Method, header};
use axum::middleware::map_response;
use axum::response::{IntoResponse, Response};
use serde_json::json;
use utoipa::openapi::path::{HttpMethod, OperationBuilder, ParameterBuilder, ParameterIn};
use utoipa::openapi::request_body::RequestBodyBuilder;
use utoipa::openapi::schema::{ArrayBuilder, ObjectBuilder, OneOfBuilder, Type};
use utoipa::openapi::security::{ApiKey, ApiKeyValue, SecurityRequirement, SecurityScheme};
use utoipa::openapi::{
    ComponentsBuilder, ContentBuilder, InfoBuilder, LicenseBuilder, OpenApi, OpenApiBuilder, Paths, RefOr, Required,
    ResponseBuilder, Schema, ServerBuilder,
};
use utoipa_swagger_ui::{Config, SwaggerUi};

use crate::api_version::ApiVersion;
use crate::routes::{Route, brace_path_params, param_name};
use crate::{Access, Context, InstanceUrls};

const TOKEN: &str = "token";
const JOB_TOKEN: &str = "job_token";

/// The serialized OpenAPI document. It is rendered once.
pub struct Document(String);

pub fn render(routes: &[Route], version: ApiVersion, site: &InstanceUrls) -> Document {
    let openapi = build(routes, version, site);
    Document(openapi.to_pretty_json().expect("the document has only values that JSON can represent"))
}

impl Document {
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

pub async fn serve(document: Arc<Document>) -> impl IntoResponse {
    ([(header::CONTENT_TYPE, "application/json")], document.0.clone())
}

/// Returns the routes of the page that displays the documents of all versions. Its assets are part of the binary.
pub(crate) fn docs_router() -> axum::Router<Arc<Context>> {
    let documents = ["/api/v4/openapi.json", "/api/v3/openapi.json"];
    let page: axum::Router<Arc<Context>> = SwaggerUi::new("/api/docs").config(Config::new(documents)).into();
    page.layer(map_response(async |mut response: Response| {
        response.headers_mut().insert(header::CONTENT_SECURITY_POLICY, HeaderValue::from_static(PAGE_POLICY));
        response
    }))
}

/// The content security policy of the page. Scripts are loaded from this server and connect only to it, and other pages
/// cannot embed this one. Swagger UI needs inline styles and `data:` images.
const PAGE_POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; \
    img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

fn build(routes: &[Route], version: ApiVersion, site: &InstanceUrls) -> OpenApi {
    let mut paths = Paths::new();
    let mut components = ComponentsBuilder::new()
        .security_scheme(TOKEN, SecurityScheme::ApiKey(ApiKey::Header(ApiKeyValue::new("PRIVATE-TOKEN"))))
        .security_scheme(JOB_TOKEN, SecurityScheme::ApiKey(ApiKey::Header(ApiKeyValue::new("JOB-TOKEN"))))
        .schema("Error", error_schema());
    for route in routes {
        for (name, schema) in &route.schemas {
            components = components.schema(name.clone(), schema.clone());
        }
        paths.add_path_operation(brace_path_params(route.path), vec![http_method(&route.method)], operation(route));
    }
    let info = InfoBuilder::new()
        .title("Holdfast")
        .version(env!("CARGO_PKG_VERSION"))
        .description(Some(match version {
            ApiVersion::V3 => "Git hosting server: REST API, version 3.",
            ApiVersion::V4 => "Git hosting server: REST API, version 4.",
        }))
        .license(Some(LicenseBuilder::new().name("Apache-2.0").build()));
    OpenApiBuilder::new()
        .info(info)
        .servers(Some([ServerBuilder::new().url(site.url(version.prefix())).build()]))
        .paths(paths)
        .components(Some(components.build()))
        .build()
}

fn operation(route: &Route) -> OperationBuilder {
    let area = route.path.split('/').nth(1).unwrap_or_default();
    let mut operation = OperationBuilder::new()
        .tag(if area == "user" { "users" } else { area })
        .operation_id(Some(operation_id(route)))
        .summary(Some(route.summary))
        .description(Some(format!("Permission: {}.", route.access.describe())))
        .response(
            route.status.as_str(),
            content_response("Success", route.content_types, route.response_schema.clone()),
        )
        .response(
            "4XX",
            content_response(
                "Request rejected. The body contains the reason.",
                &["application/json"],
                utoipa::openapi::Ref::from_schema_name("Error").into(),
            ),
        );
    if let Some(status) = route.empty_status.filter(|status| *status != route.status) {
        let unchanged = ResponseBuilder::new().description("Nothing changed. The response has no body.");
        operation = operation.response(status.as_str(), unchanged);
    }
    if route.access != Access::Anyone {
        operation = operation.security(SecurityRequirement::new(TOKEN, Vec::<String>::new()));
    }
    if route.accepts_job_token {
        operation = operation.security(SecurityRequirement::new(JOB_TOKEN, Vec::<String>::new()));
    }
    if route.access.is_open_to_anonymous() {
        operation = operation.security(SecurityRequirement::default());
    }
    let has_body = matches!(route.method, Method::POST | Method::PUT | Method::PATCH);
    let (path_params, other_params): (Vec<_>, Vec<_>) =
        route.params.iter().partition(|param| is_in_path(route, param.name));
    for param in path_params {
        operation = operation.parameter(parameter(
            param.name,
            ParameterIn::Path,
            true,
            param.schema.clone(),
            param.description,
        ));
    }
    if has_body && !other_params.is_empty() {
        let mut object = ObjectBuilder::new();
        for param in &other_params {
            object = object.property(param.name, described(param.schema.clone(), param.description));
            if param.is_required {
                object = object.required(param.name);
            }
        }
        let body = ContentBuilder::new().schema(Some(Schema::Object(object.build()))).build();
        let body = match route.takes_file {
            true => RequestBodyBuilder::new().content("multipart/form-data", body),
            false => RequestBodyBuilder::new()
                .content("application/json", body.clone())
                .content("application/x-www-form-urlencoded", body),
        };
        let body = body.required(Some(if other_params.iter().any(|param| param.is_required) {
            Required::True
        } else {
            Required::False
        }));
        operation = operation.request_body(Some(body.build()));
    } else {
        for param in other_params {
            let schema = param.schema.clone();
            // Arrays in a query are sent as `name[]=1&name[]=2`.
            let is_array = matches!(schema, RefOr::T(Schema::Array(_)));
            let name = if is_array { format!("{}[]", param.name) } else { param.name.to_owned() };
            operation =
                operation.parameter(parameter(&name, ParameterIn::Query, param.is_required, schema, param.description));
        }
    }
    if route.is_list {
        let number = |maximum: Option<i64>| {
            let number = ObjectBuilder::new().schema_type(Type::Integer).minimum(Some(1)).maximum(maximum);
            RefOr::T(Schema::Object(number.build()))
        };
        operation = operation
            .parameter(parameter("page", ParameterIn::Query, false, number(None), "Page number, starting at 1."))
            .parameter(parameter(
                "per_page",
                ParameterIn::Query,
                false,
                number(Some(100)),
                "Number of items per page, 20 by default.",
            ));
    }
    operation
}

fn is_in_path(route: &Route, name: &str) -> bool {
    route.path.split('/').any(|part| param_name(part) == Some(name))
}

/// Returns the operation id of a route, such as `get_users_id_keys` for `GET /users/:id/keys`.
fn operation_id(route: &Route) -> String {
    format!("{}{}", route.method.as_str().to_lowercase(), route.path.replace(['/', '.'], "_").replace([':', '*'], ""))
}

fn parameter(
    name: &str,
    location: ParameterIn,
    is_required: bool,
    schema: RefOr<Schema>,
    description: &str,
) -> ParameterBuilder {
    ParameterBuilder::new()
        .name(name)
        .parameter_in(location)
        .required(if is_required { Required::True } else { Required::False })
        .schema(Some(schema))
        .description((!description.is_empty()).then_some(description))
}

/// Adds a description to the schema of a parameter in a body, where only the schema can have one.
fn described(mut schema: RefOr<Schema>, description: &str) -> RefOr<Schema> {
    let description = (!description.is_empty()).then(|| description.to_owned());
    match &mut schema {
        RefOr::T(Schema::Object(object)) => object.description = description,
        RefOr::T(Schema::Array(array)) => array.description = description,
        _ => unreachable!("a parameter is a single value or a list"),
    }
    schema
}

fn content_response(description: &str, types: &[&str], schema: RefOr<Schema>) -> ResponseBuilder {
    let content = ContentBuilder::new().schema(Some(schema)).build();
    let response = ResponseBuilder::new().description(description);
    types.iter().fold(response, |response, content_type| response.content(*content_type, content.clone()))
}

fn http_method(method: &Method) -> HttpMethod {
    match *method {
        Method::POST => HttpMethod::Post,
        Method::PUT => HttpMethod::Put,
        Method::PATCH => HttpMethod::Patch,
        Method::DELETE => HttpMethod::Delete,
        _ => HttpMethod::Get,
    }
}

/// Returns the schema of errors. Most have a `message` with a text, or with texts per field; errors in parameters,
/// routes and scopes have an `error`.
fn error_schema() -> Schema {
    let text = || ObjectBuilder::new().schema_type(Type::String);
    let texts = ObjectBuilder::new().additional_properties(Some(ArrayBuilder::new().items(text())));
    let message = ObjectBuilder::new()
        .property("message", OneOfBuilder::new().item(text()).item(texts))
        .required("message")
        .examples([json!({"message": "404 User Not Found"})]);
    let error = ObjectBuilder::new()
        .property("error", text())
        .property("error_description", text())
        .property("scope", text())
        .required("error");
    OneOfBuilder::new().item(message).item(error).into()
}
