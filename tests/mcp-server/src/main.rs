//! `mcp-server`: an MCP server on the official Rust SDK. `mcp-server http` prints its URL, beside
//! which `/sessions` answers with the number of sessions that are open; `mcp-server stdio` speaks
//! over its own input and output.

use std::sync::Arc;

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, ListToolsResult,
    PaginatedRequestParams, ServerCapabilities, ServerConfig, Tool,
};
use rmcp::service::RequestContext;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use rmcp::{ErrorData, RoleServer, ServerHandler, ServiceExt as _};
use serde_json::{Map, json};

type AnyError = Box<dyn std::error::Error + Send + Sync>;

/// Has one tool, which says what it was told.
#[derive(Debug, Clone)]
struct Echo;

impl ServerHandler for Echo {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let mut schema = Map::new();
        schema.insert("type".to_owned(), json!("object"));
        let echo = Tool::new("echo", "Says what it was told.", Arc::new(schema));
        Ok(ListToolsResult::with_all_items(vec![echo]))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let told = request.arguments.unwrap_or_default();
        let text = serde_json::to_string(&told).unwrap_or_default();
        Ok(CallToolResponse::Complete(CallToolResult::success(vec![ContentBlock::text(text)])))
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), AnyError> {
    match std::env::args().nth(1).as_deref() {
        Some("http") => over_http().await,
        Some("stdio") => {
            Echo.serve(rmcp::transport::stdio()).await?.waiting().await?;
            Ok(())
        }
        _ => Err("say http or stdio".into()),
    }
}

#[allow(clippy::print_stdout, reason = "who started it reads the URL there")]
async fn over_http() -> Result<(), AnyError> {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    let sessions = Arc::new(LocalSessionManager::default());
    let config = StreamableHttpServerConfig::default();
    let service = StreamableHttpService::new(|| Ok(Echo), Arc::clone(&sessions), config);
    let open = move || {
        let sessions = Arc::clone(&sessions);
        async move { sessions.sessions.read().await.len().to_string() }
    };
    let routes = axum::Router::new()
        .nest_service("/mcp", service)
        .route("/sessions", axum::routing::get(open));
    println!("http://{address}/mcp");
    axum::serve(listener, routes).await?;
    Ok(())
}
