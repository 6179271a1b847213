import type { AuthRequest } from '../../lib/http/request.ts';
import { passAdapter } from '../../lib/http/passed-adapters.ts';
import { bareAdapter } from './bare-request.ts';
import type { AdapterChange } from './bare-request.ts';
import { serve } from './servers.ts';

/** What an exchange says of one request to `/somewhere?a=1`. */
export async function ask<Said>(
  change: AdapterChange,
  prefix: string,
  question: (exchange: AuthRequest) => Said | Promise<Said>,
  headers: Readonly<Record<string, string>> = {},
): Promise<{ readonly said: Said; readonly origin: string; readonly headers: Headers }> {
  const definition = bareAdapter({ now: Date.now, ...change });
  const answer = Promise.withResolvers<Said>();
  const server = await serve((req, res) => {
    const exchange = passAdapter(definition, req, res, prefix);
    void new Promise<Said>((resolve) => resolve(question(exchange)))
      .then(answer.resolve, answer.reject)
      .finally(() => res.end());
  });
  const response = await fetch(`${server.origin}/somewhere?a=1`, { headers });
  const said = await answer.promise;
  await server.close();
  return { said, origin: server.origin, headers: response.headers };
}
