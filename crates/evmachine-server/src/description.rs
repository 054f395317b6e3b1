//! The description of all routes, as `OpenAPI` has it.

use serde_json::{Value, json};
use utoipa::openapi::extensions::ExtensionsBuilder;
use utoipa::openapi::security::{ApiKey, ApiKeyValue, Http, HttpAuthScheme, SecurityScheme};
use utoipa::{Modify, OpenApi};

use crate::keys::Role;

#[derive(OpenApi)]
#[openapi(
    info(
        title = "evmachine",
        description = "A classifier that says unknown, and the loop in which people name what it does not know."
    ),
    modifiers(&Keys),
    security((), ("bearer" = []), ("key" = []))
)]
struct Description;

/// How a key is sent, where the server asks for one.
struct Keys;

impl Modify for Keys {
    fn modify(&self, description: &mut utoipa::openapi::OpenApi) {
        let components = description.components.get_or_insert_default();
        let bearer = SecurityScheme::Http(Http::new(HttpAuthScheme::Bearer));
        let key = SecurityScheme::ApiKey(ApiKey::Header(ApiKeyValue::new("api-key")));
        components.add_security_scheme("bearer", bearer);
        components.add_security_scheme("key", key);
    }
}

/// Without any route yet.
pub(crate) fn empty() -> utoipa::openapi::OpenApi {
    Description::openapi()
}

/// Says with each operation which role it takes, as `x-role`.
pub(crate) fn name_role(description: &mut utoipa::openapi::OpenApi, role: Role) {
    for item in description.paths.paths.values_mut() {
        let operations = [&mut item.get, &mut item.post, &mut item.delete, &mut item.put, &mut item.patch];
        for operation in operations.into_iter().flatten() {
            let extensions = ExtensionsBuilder::new().add("x-role", role.to_string()).build();
            operation.extensions.get_or_insert_default().merge(extensions);
        }
    }
}

/// As JSON. Whatever a route does not say of itself may be a problem, and problems have a media type of their own.
pub(crate) fn text(description: &utoipa::openapi::OpenApi) -> String {
    let mut description = serde_json::to_value(description).unwrap_or_default();
    let paths = description.get_mut("paths").and_then(Value::as_object_mut);
    let operations = paths.into_iter().flat_map(|paths| paths.values_mut()).filter_map(Value::as_object_mut);
    for operation in operations.flat_map(|item| item.values_mut()) {
        let Some(responses) = operation.get_mut("responses").and_then(Value::as_object_mut) else { continue };
        responses.retain(|_, response| response["content"]["application/json"]["schema"] != problem());
        let content = json!({ "application/problem+json": { "schema": problem() } });
        responses.insert("default".to_owned(), json!({ "description": "A problem", "content": content }));
    }
    format!("{description:#}")
}

fn problem() -> Value {
    json!({ "$ref": "#/components/schemas/Problem" })
}
