import react from "@vitejs/plugin-react";
import { defineConfig } from "vite";

// The page is served as files by `disputatio serve`; nothing is inlined, for its policy forbids inline parts.
export default defineConfig({
  plugins: [react()],
  base: "./",
  build: {
    outDir: "../src/disputatio/server/page",
    emptyOutDir: true,
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    target: "es2022",
    cssTarget: ["chrome123", "firefox120", "safari17.5"],
    reportCompressedSize: false,
  },
  server: { proxy: { "/api": "http://127.0.0.1:8377" } },
});
