import { UnauthorizedError as Unauthorized1 } from '@modelcontextprotocol/sdk/client/auth.js';
import { Client as Client1 } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport as Transport1 } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import {
  Client as Client2,
  StreamableHTTPClientTransport as Transport2,
  UnauthorizedError as Unauthorized2,
} from '@modelcontextprotocol/client';

/** The official clients, as an agent uses them that knows nothing but a URL. */
export const versions = ['1.x', '2.x'] as const;
export type Version = (typeof versions)[number];

const sdks: Readonly<Record<Version, any>> = {
  '1.x': { Client: Client1, Transport: Transport1, Unauthorized: Unauthorized1 },
  '2.x': { Client: Client2, Transport: Transport2, Unauthorized: Unauthorized2 },
};

export const redirectUri = 'http://127.0.0.1:4000/back';

export type Agent = ReturnType<typeof createAgent>;

/** @param url the MCP server's */
export function createAgent(version: Version, url: string) {
  const { Client, Transport, Unauthorized } = sdks[version];
  const kept: { client?: any; tokens?: any; verifier?: string; asked?: URL; discovery?: any } = {};
  const provider = {
    redirectUrl: redirectUri,
    clientMetadata: {
      client_name: `Agent ${version}`,
      redirect_uris: [redirectUri],
      grant_types: ['authorization_code', 'refresh_token'],
      response_types: ['code'],
      token_endpoint_auth_method: 'none',
    },
    state: () => 'state-of-the-agent',
    clientInformation: () => kept.client,
    saveClientInformation: (client: unknown) => void (kept.client = client),
    tokens: () => kept.tokens,
    saveTokens: (tokens: unknown) => void (kept.tokens = tokens),
    redirectToAuthorization: (to: URL) => void (kept.asked = to),
    saveCodeVerifier: (verifier: string) => void (kept.verifier = verifier),
    codeVerifier: () => kept.verifier,
    discoveryState: () => kept.discovery,
    saveDiscoveryState: (state: unknown) => void (kept.discovery = state),
    invalidateCredentials(what: string) {
      if (what === 'all' || what === 'tokens') delete kept.tokens;
      if (what === 'all' || what === 'client') delete kept.client;
    },
  };
  const open = async () => {
    const transport = new Transport(new URL(url), { authProvider: provider });
    const client = new Client({ name: 'agent', version: '1.0.0' });
    await client.connect(transport);
    return client;
  };

  return {
    kept,
    Unauthorized,
    /** The URL where a person must sign in. */
    async findSignIn(): Promise<URL> {
      const error: unknown = await open().catch((thrown: unknown) => thrown);
      if (!(error instanceof Unauthorized) || kept.asked === undefined) throw error;
      return kept.asked;
    },
    /** @param back where the browser was sent to */
    async finish(back: URL): Promise<void> {
      const transport = new Transport(new URL(url), { authProvider: provider });
      await transport.finishAuth(back.searchParams.get('code'));
    },
    /** Connects, calls a tool and disconnects: what the tool says. */
    async call(tool: string, args: object = {}): Promise<any> {
      const client = await open();
      try {
        const result = await client.callTool({ name: tool, arguments: args });
        return JSON.parse(result.content[0].text);
      } finally {
        await client.close();
      }
    },
    async tools(): Promise<string[]> {
      const client = await open();
      const { tools } = await client.listTools();
      await client.close();
      return tools.map(({ name }: { name: string }) => name);
    },
  };
}
