/** Dark or light: as the system says, or as somebody chose in this browser. */
export type Theme = "system" | "light" | "dark";

const STORED = "nuthatch.theme";

export function storedTheme(): Theme {
  const theme = localStorage.getItem(STORED);
  return theme === "light" || theme === "dark" ? theme : "system";
}

export function applyTheme(theme: Theme = storedTheme()) {
  if (theme === "system") delete document.documentElement.dataset["theme"];
  else document.documentElement.dataset["theme"] = theme;
}

export function chooseTheme(theme: Theme) {
  localStorage.setItem(STORED, theme);
  applyTheme(theme);
}
