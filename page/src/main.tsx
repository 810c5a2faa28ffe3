import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";

import { App } from "./app/App";
import { applyTheme } from "./app/ThemeButton";
import "./styles/tokens.css";
import "./styles/base.css";
import "./styles/frame.css";
import "./styles/ask.css";
import "./styles/answer.css";
import "./styles/tables.css";
import "./styles/documents.css";
import "./styles/media.css";

applyTheme();
const client = new QueryClient({ defaultOptions: { queries: { retry: 1, refetchOnWindowFocus: false } } });
const root = document.getElementById("root");
if (root) {
  createRoot(root).render(
    <StrictMode>
      <QueryClientProvider client={client}>
        <App />
      </QueryClientProvider>
    </StrictMode>,
  );
}
