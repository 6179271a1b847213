/** Runs `work` under another `NODE_ENV` and puts the old one back, whatever happens. */
export async function withNodeEnv(value: string, work: () => void | Promise<void>): Promise<void> {
  const former = process.env['NODE_ENV'];
  process.env['NODE_ENV'] = value;
  try {
    await work();
  } finally {
    if (former === undefined) delete process.env['NODE_ENV'];
    else process.env['NODE_ENV'] = former;
  }
}
