/** Starts the console in its page. */
import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { createRoot } from "react-dom/client";

import { App } from "./app";
import { NuthatchError } from "./api";
import { applyTheme } from "./theme";

applyTheme();

const queries = new QueryClient({
  defaultOptions: {
    queries: {
      // The server says when trying again makes sense; for the rest, people decide.
      retry: (count, error) => error instanceof NuthatchError && error.status === 503 && count < 3,
      refetchOnWindowFocus: false,
      staleTime: 2_000,
      // The console asks a server of its own machine or network, which a browser's idea of being online says nothing of.
      networkMode: "always",
    },
    mutations: { networkMode: "always" },
  },
});

const root = document.getElementById("root");
if (root === null) throw new Error("the page has no element `root`");
createRoot(root).render(
  <QueryClientProvider client={queries}>
    <App />
  </QueryClientProvider>,
);
