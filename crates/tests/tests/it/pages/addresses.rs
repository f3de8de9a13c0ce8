//! Every address that the API returns for a project, a group or a user leads to a page.

use std::collections::BTreeSet;

use serde_json::Value;

use super::fixtures::PageFixture;

/// Collects the values of `web_url` in a body.
fn collect_web_urls(body: &Value, found: &mut BTreeSet<String>) {
    match body {
        Value::Array(items) => items.iter().for_each(|item| collect_web_urls(item, found)),
        Value::Object(fields) => {
            for (name, value) in fields {
                if let (Value::String(url), "web_url") = (value, name.as_str()) {
                    found.insert(url.clone());
                }
                collect_web_urls(value, found);
            }
        }
        _ => {}
    }
}

#[tokio::test]
async fn addresses_in_api_responses_lead_to_pages() {
    let fixture = PageFixture::new().await;
    let mut urls = BTreeSet::new();
    for path in [
        "/user",
        "/users",
        "/projects",
        "/projects/visible",
        "/projects/private-team%2Ftide",
        "/projects/public-team%2Ftide",
        "/projects/private-team%2Ftide/members",
        "/groups",
        "/groups/private-team",
        "/groups/private-team/projects",
        "/groups/private-team/members",
    ] {
        let response = fixture.owner.get(path).await;
        assert_eq!(response.status, 200, "{path}: {}", response.text);
        collect_web_urls(&response.body, &mut urls);
    }
    let site = "http://holdfast.test";
    for expected in ["/owner", "/stranger", "/groups/private-team", "/private-team/tide", "/public-team/tide"] {
        assert!(urls.contains(&format!("{site}{expected}")), "{expected}: {urls:?}");
    }
    let browser = fixture.browser("owner").await;
    for url in &urls {
        let path = url.strip_prefix(site).unwrap_or_else(|| panic!("{url}"));
        let page = browser.get(path).await;
        // The address is the one of the page, and not one that redirects to it.
        assert_eq!(page.status, 200, "{url}: {}", page.text);
    }
}

/// The URL of a repository, opened in a browser, leads to the project.
#[tokio::test]
async fn the_address_of_a_repository_leads_to_its_project() {
    let fixture = PageFixture::new().await;
    let project = fixture.owner.get("/projects/public-team%2Ftide").await.body;
    let url = project["http_url_to_repo"].as_str().unwrap();
    let response = fixture.server.browser().get(url.strip_prefix("http://holdfast.test").unwrap()).await;
    assert_eq!((response.status, response.location()), (308, Some("/public-team/tide")));
    let page = fixture.server.browser().get("/public-team/tide").await;
    assert!(page.texts("code").iter().any(|text| text == url), "{}", page.text);
}
