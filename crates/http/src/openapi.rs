//! The OpenAPI document, made from the table of routes, and the page that shows it.

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

use crate::routes::{Route, braced};
use crate::{Access, Context, Site};

const TOKEN: &str = "token";

/// The document as it is sent: rendered once.
pub struct Document(String);

pub fn document(routes: &[Route], site: &Site) -> Document {
    let openapi = build(routes, site);
    Document(openapi.to_pretty_json().expect("a document of plain values"))
}

impl Document {
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

pub async fn serve(document: Arc<Document>) -> impl IntoResponse {
    ([(header::CONTENT_TYPE, "application/json")], document.0.clone())
}

/// Served from the binary; it needs no network but this server.
pub(crate) fn page() -> axum::Router<Arc<Context>> {
    let page: axum::Router<Arc<Context>> =
        SwaggerUi::new("/api/docs").config(Config::from("/api/v3/openapi.json")).into();
    page.layer(map_response(async |mut response: Response| {
        response.headers_mut().insert(header::CONTENT_SECURITY_POLICY, HeaderValue::from_static(PAGE_POLICY));
        response
    }))
}

/// Scripts come from here alone and talk to here alone; no other page shows this one in a frame. The page sets styles from
/// its scripts and has pictures in its style sheet.
const PAGE_POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; \
    img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

fn build(routes: &[Route], site: &Site) -> OpenApi {
    let mut paths = Paths::new();
    let mut components = ComponentsBuilder::new()
        .security_scheme(TOKEN, SecurityScheme::ApiKey(ApiKey::Header(ApiKeyValue::new("PRIVATE-TOKEN"))))
        .schema("Error", error_schema());
    for route in routes {
        for (name, schema) in &route.schemas {
            components = components.schema(name.clone(), schema.clone());
        }
        paths.add_path_operation(braced(route.path), vec![http_method(&route.method)], operation(route));
    }
    let info = InfoBuilder::new()
        .title("Holdfast")
        .version(env!("CARGO_PKG_VERSION"))
        .description(Some("Source hosting: the REST interface, version 3."))
        .license(Some(LicenseBuilder::new().name("Apache-2.0").build()));
    OpenApiBuilder::new()
        .info(info)
        .servers(Some([ServerBuilder::new().url(site.url("/api/v3")).build()]))
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
        .description(Some(format!("Who may: {}.", route.access.describe())))
        .response(route.status.as_str(), content("Success", route.content_types, route.answer.clone()))
        .response(
            "4XX",
            content(
                "Refused: the body says why",
                &["application/json"],
                utoipa::openapi::Ref::from_schema_name("Error").into(),
            ),
        );
    if let Some(status) = route.or_nothing.filter(|status| *status != route.status) {
        let unchanged = ResponseBuilder::new().description("Nothing changed: there is no body");
        operation = operation.response(status.as_str(), unchanged);
    }
    if route.access != Access::Anyone {
        operation = operation.security(SecurityRequirement::new(TOKEN, Vec::<String>::new()));
    }
    if route.access.is_open_to_anonymous() {
        operation = operation.security(SecurityRequirement::default());
    }
    let has_body = matches!(route.method, Method::POST | Method::PUT);
    let (in_path, sent): (Vec<_>, Vec<_>) = route.params.iter().partition(|param| is_in_path(route, param.name));
    for param in in_path {
        operation = operation.parameter(parameter(
            param.name,
            ParameterIn::Path,
            true,
            param.schema.clone(),
            param.description,
        ));
    }
    if has_body && !sent.is_empty() {
        let mut object = ObjectBuilder::new();
        for param in &sent {
            object = object.property(param.name, param.schema.clone());
            if param.required {
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
        let body =
            body.required(Some(if sent.iter().any(|param| param.required) { Required::True } else { Required::False }));
        operation = operation.request_body(Some(body.build()));
    } else {
        for param in sent {
            let schema = param.schema.clone();
            // An array in a query is `name[]=1&name[]=2`.
            let is_array = matches!(schema, RefOr::T(Schema::Array(_)));
            let name = if is_array { format!("{}[]", param.name) } else { param.name.to_owned() };
            operation =
                operation.parameter(parameter(&name, ParameterIn::Query, param.required, schema, param.description));
        }
    }
    if route.is_list {
        let number = |maximum: Option<i64>| {
            let number = ObjectBuilder::new().schema_type(Type::Integer).minimum(Some(1)).maximum(maximum);
            RefOr::T(Schema::Object(number.build()))
        };
        operation = operation
            .parameter(parameter("page", ParameterIn::Query, false, number(None), "Number of the page, from 1."))
            .parameter(parameter(
                "per_page",
                ParameterIn::Query,
                false,
                number(Some(100)),
                "Items per page, 20 by default.",
            ));
    }
    operation
}

fn is_in_path(route: &Route, name: &str) -> bool {
    route.path.split('/').any(|part| part.strip_prefix(':') == Some(name))
}

/// `GET /users/:id/keys` is `get_users_id_keys`.
fn operation_id(route: &Route) -> String {
    format!("{}{}", route.method.as_str().to_lowercase(), route.path.replace(['/', '.'], "_").replace(':', ""))
}

fn parameter(name: &str, place: ParameterIn, required: bool, schema: RefOr<Schema>, text: &str) -> ParameterBuilder {
    ParameterBuilder::new()
        .name(name)
        .parameter_in(place)
        .required(if required { Required::True } else { Required::False })
        .schema(Some(schema))
        .description((!text.is_empty()).then_some(text))
}

fn content(description: &str, types: &[&str], schema: RefOr<Schema>) -> ResponseBuilder {
    let content = ContentBuilder::new().schema(Some(schema)).build();
    let response = ResponseBuilder::new().description(description);
    types.iter().fold(response, |response, kind| response.content(*kind, content.clone()))
}

fn http_method(method: &Method) -> HttpMethod {
    match *method {
        Method::POST => HttpMethod::Post,
        Method::PUT => HttpMethod::Put,
        Method::DELETE => HttpMethod::Delete,
        _ => HttpMethod::Get,
    }
}

/// `message` holds a text, or texts per field; errors in parameters, routes and scopes use `error`.
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
