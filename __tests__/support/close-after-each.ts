interface Closable {
  close(): Promise<void>;
}

/** Takes what a test starts and closes it after the test, newest first, also where the test fails. */
export function closeAfterEach(): <Started extends Closable>(started: Promise<Started>) => Promise<Started> {
  const open: Closable[] = [];
  afterEach(async () => {
    for (const started of open.splice(0).reverse()) await started.close();
  });
  return async (starting) => {
    const started = await starting;
    open.push(started);
    return started;
  };
}
