import express, { Router } from 'express';
import type { ErrorRequestHandler, Request } from 'express';
import { authInfo, currentSession } from 'express-auth-adapters/backend';
import type { SqlPool } from 'express-auth-adapters/backend';
import { readNotes } from './notes.ts';

/**
 * An MCP server in one file: the messages that a client needs for tools, one JSON answer for each (Streamable HTTP without streams). A
 * server of your own takes MCP's SDK instead, as `docs/mcp.md` shows; it is not here because it has 45 MB.
 *
 * @see https://modelcontextprotocol.io/specification/2025-11-25/basic/transports
 */
export function mcpServer(path: string, pool: SqlPool | undefined): Router {
  const routes = Router();
  routes.post(path, express.json({ type: () => true }), async (req, res) => {
    const message: unknown = req.body;
    if (!isRecord(message) || typeof message['method'] !== 'string') {
      res.status(400).json(failure(null, invalidRequest, 'Send one JSON-RPC message'));
      return;
    }
    const { id, method } = message;
    // A notification has no answer.
    if (id === undefined) res.status(202).end();
    else
      res.json(await answer(req, { id, method, params: isRecord(message['params']) ? message['params'] : {} }, pool));
  });
  routes.all(path, (_req, res) => {
    res
      .status(405)
      .set('Allow', 'POST')
      .json(failure(null, invalidRequest, 'This server has no streams: use POST'));
  });
  routes.use(path, reportUnreadable);
  return routes;
}

interface Call {
  readonly id: unknown;
  readonly method: string;
  readonly params: Readonly<Record<string, unknown>>;
}

const protocolVersions = ['2025-11-25', '2025-06-18', '2025-03-26'];

async function answer(req: Request, { id, method, params }: Call, pool: SqlPool | undefined): Promise<object> {
  const result = (value: object): object => ({ jsonrpc: '2.0', id, result: value });
  switch (method) {
    case 'initialize': {
      const asked = protocolVersions.find((version) => version === params['protocolVersion']);
      return result({
        protocolVersion: asked ?? protocolVersions[0],
        capabilities: { tools: {} },
        serverInfo: { name: 'tour', version: '1.0.0' },
      });
    }
    case 'ping':
      return result({});
    case 'tools/list':
      return result({
        tools: [...tools].map(([name, { description }]) => ({ name, description, inputSchema: { type: 'object' } })),
      });
    case 'tools/call': {
      const tool = tools.get(String(params['name']));
      if (tool === undefined) return failure(id, invalidParameters, 'There is no such tool');
      return result({ content: [{ type: 'text', text: JSON.stringify(await tool.run(req, pool)) }] });
    }
    default:
      return failure(id, methodNotFound, 'This server has tools only');
  }
}

interface Tool {
  readonly description: string;
  run(req: Request, pool: SqlPool | undefined): unknown;
}

/** Each acts as the person who allowed the client. */
const tools: ReadonlyMap<string, Tool> = new Map<string, Tool>([
  [
    'whoami',
    {
      description: 'Says who is signed in, and through which client',
      run: (req) => ({ email: currentSession(req, 'backend').user.email, clientId: authInfo(req).clientId }),
    },
  ],
  [
    'notes',
    {
      description: 'Reads the notes of the person who is signed in',
      run: async (req, pool) => {
        const notes = await readNotes(req, pool);
        return notes.kind === 'rows' ? notes.rows.map(({ body }) => body) : { failed: notes.reason };
      },
    },
  ],
]);

/** Codes of JSON-RPC 2.0. */
const [parseError, invalidRequest, methodNotFound, invalidParameters] = [-32_700, -32_600, -32_601, -32_602];

function failure(id: unknown, code: number, message: string): object {
  return { jsonrpc: '2.0', id, error: { code, message } };
}

/** A body that is no JSON, or too long. */
const reportUnreadable: ErrorRequestHandler = (error: unknown, _req, res, next) => {
  const status = isRecord(error) && error['expose'] === true ? Number(error['status']) : 500;
  if (status >= 500 || res.headersSent) next(error);
  else res.status(status).json(failure(null, parseError, 'The body cannot be read'));
};

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
