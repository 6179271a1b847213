import express from 'express';
import type { RequestHandler } from 'express';
import { McpServer as McpServer1 } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import * as sdkNode from '@modelcontextprotocol/node';
import { createMcpHandler, McpServer as McpServer2 } from '@modelcontextprotocol/server';
import { z } from 'zod';
import { AuthError, authInfo, currentSession } from '../../../lib/index.ts';

const { NodeStreamableHTTPServerTransport, toNodeHandler } = sdkNode as any;

/** The official servers, behind a `protectResource` with `attach`. */
export const serverNames = ['1.x', '2.x', '2.x, by request'] as const;
export type ServerName = (typeof serverNames)[number];

const asText = (value: unknown) => ({ content: [{ type: 'text', text: JSON.stringify(value) }] });

/** Two tools: who calls, as the SDK sees it, and what was said. */
function addTools<Server extends { registerTool: any }>(server: Server, infoOf: (context: any) => unknown): Server {
  server.registerTool('whoami', { description: 'Says who calls' }, (context: any) => asText(infoOf(context)));
  server.registerTool(
    'echo',
    { description: 'Repeats', inputSchema: z.object({ text: z.string() }) },
    ({ text }: any) => asText({ text }),
  );
  return server;
}

const create1 = () =>
  addTools(new McpServer1({ name: 'tools', version: '1.0.0' }) as any, ({ authInfo: info }) => info);
const create2 = () =>
  addTools(new McpServer2({ name: 'tools', version: '1.0.0' }) as any, (context) => context.http?.authInfo);

/** What answers at the resource's path; `express.json()` runs after the guard. */
export const handlers: Readonly<Record<ServerName, () => RequestHandler[]>> = {
  '1.x': () => [express.json(), stateless(create1, StreamableHTTPServerTransport)],
  '2.x': () => [express.json(), stateless(create2, NodeStreamableHTTPServerTransport)],
  '2.x, by request': () => [toNodeHandler(createMcpHandler(create2 as any)) as RequestHandler],
};

function stateless(create: () => any, Transport: any): RequestHandler {
  return (req, res, next) => {
    const work = async (): Promise<void> => {
      if (currentSession(req).credential !== 'bearer' || authInfo(req).token === '') throw new AuthError('forbidden');
      const server = create();
      const transport = new Transport({ sessionIdGenerator: undefined });
      res.on('close', () => void transport.close());
      await server.connect(transport);
      await transport.handleRequest(req, res, req.body);
    };
    work().catch(next);
  };
}
