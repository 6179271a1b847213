/** Environment variables, as `process.env` holds them. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** Without blanks and line breaks around it, nor the quotes that Docker's env files and dashboards keep. */
export function valueOf(text = ''): string {
  const value = text.trim();
  return /^(["'])(.*)\1$/s.exec(value)?.[2]?.trim() ?? value;
}

/** The first of these variables that is set. */
export function setVariable(environment: Environment, names: readonly string[]): string | undefined {
  return names.find((name) => valueOf(environment[name]) !== '');
}

export function isProduction(environment: Environment = process.env): boolean {
  return modeOf(environment) === 'production';
}

/** Also where `NODE_ENV` is not set, as with Express. */
export function isDevelopment(environment: Environment = process.env): boolean {
  return modeOf(environment) === 'development';
}

function modeOf(environment: Environment): string {
  const { NODE_ENV: mode = 'development' } = environment;
  return valueOf(mode);
}
