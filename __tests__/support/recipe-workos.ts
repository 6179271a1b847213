/**
 * WorkOS' SDK for the examples: it calls the stand-in, whose address the adapter gets by its environment variables.
 */
import { WorkOS as Sdk } from '@workos-inc/node';

const { env } = process;

export class WorkOS extends Sdk {
  constructor(apiKey?: string, options: object = {}) {
    const clientId = env['B2B_CLIENT_ID'] ?? '';
    super({
      ...options,
      apiKey: apiKey ?? '',
      clientId,
      apiHostname: env['B2B_API_HOSTNAME'] ?? '',
      port: Number(env['B2B_API_PORT']),
      https: false,
    });
  }
}
