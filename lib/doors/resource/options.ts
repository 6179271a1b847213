import type { Request } from 'express';
import * as v from 'valibot';
import { isProduction } from '../../tools/environment.ts';
import { isRecord } from '../../tools/json.ts';
import { createPathMatcher } from '../../tools/paths/path-matcher.ts';
import { ConfigurationError } from '../../errors.ts';
import type { AccessTokenClaims, Session } from '../../types.ts';
import type { Adapter, AuthorizationServer } from '../../http/adapter.ts';
import { callback, isHttpUrl, text } from '../../options/shared.ts';
import type { ExactOptionsOf } from '../../options/shared.ts';
import { problemsOf } from '../../options/read.ts';
import type { OptionsSchema } from '../../options/read.ts';
import { checkEntry } from '../../http/guard/require-session.ts';

/** Decides by a verified token's claims whether its OAuth client may call; only `true` admits it. */
type JudgeClient = (claims: AccessTokenClaims) => boolean | Promise<boolean>;

const clientsRule = "must be 'any', a list of client ids, or a function: (claims) => boolean";
const clientId = v.pipe(v.string(clientsRule), v.nonEmpty(clientsRule));

/** What decides about a token, with and without a request. */
export const tokenEntries = {
  /**
   * The `aud` that a token must have. With `backendAuth`, what your access token hook sets. Default: with `b2bAuth` the resource's URL,
   * with `backendAuth` `authenticated`, which binds a token to no resource.
   */
  audience: v.exactOptional(text('the audience of the tokens, such as https://app.example.com/mcp')),
  /**
   * The OAuth clients whose tokens pass: their ids, a function of the verified claims, or `'any'`. With `'any'` each client passes to
   * which the authorization server gives tokens. Default: with `b2bAuth` `'any'`; required with `backendAuth`.
   */
  clients: v.exactOptional(
    v.union(
      [
        v.literal('any'),
        v.pipe(v.array(clientId), v.minLength(1, clientsRule)),
        callback<JudgeClient>('(claims) => boolean'),
      ],
      clientsRule,
    ),
  ),
  /** Whether the access token of your own app's session also passes, with `backendAuth` and `clients: 'any'`. Default false. */
  firstParty: v.exactOptional(v.boolean('must be true or false')),
};

/** RFC 6749 §3.3 */
const scopeToken = v.pipe(
  v.string('must be a list of scopes'),
  v.regex(/^[\x21\x23-\x5b\x5d-\x7e]+$/, 'must be a list of scopes, each without blanks and quotes'),
);

const resourceEntries = {
  /**
   * The scopes that a token must have; metadata and challenges name them, so that clients ask for them. OpenID Connect's own, such as
   * `email`, are not required of a token without the claim `scope`, and `offline_access` never is. Default: none.
   */
  scopes: v.exactOptional(v.pipe(v.array(scopeToken, 'must be a list of scopes'), v.minLength(1, 'must name a scope'))),
  /** The issuer that metadata names, where clients reach it under another URL than the adapter. Default: the adapter's. */
  authorizationServer: v.exactOptional(
    v.pipe(
      v.string('must be an absolute http(s) URL'),
      v.check((value) => isHttpUrl(value) && !/[?#]/.test(value), 'must be an absolute http(s) URL without a query'),
    ),
  ),
  /** Whether `req.auth` is also set, where the transports of the MCP SDK read it. Default false. */
  attach: v.exactOptional(v.boolean('must be true or false')),
};

const pathRule = 'must be a root-relative path of letters, digits and . _ ~ - such as /mcp, without a trailing slash';
const path = v.pipe(
  v.string(pathRule),
  v.regex(/^(?:\/|(?:\/(?!\.{1,2}(?:\/|$))[A-Za-z0-9._~-]+)+)$/, pathRule),
  v.description('the path of the resource, such as /mcp'),
);

export interface ProtectResourceOptions
  extends ExactOptionsOf<typeof tokenEntries>, ExactOptionsOf<typeof resourceEntries> {
  /** The resource's path: it and all below need a token. With the public origin it is the resource's identifier. Required. */
  readonly path: string;
  /** Decides whether the session passes; may be asynchronous. Only `true` passes, any other result is a 403. Default: every session. */
  readonly check?: (session: Session, req: Request) => boolean | Promise<boolean>;
}

const resourceSchema = v.strictObject({ path, ...tokenEntries, ...resourceEntries, check: checkEntry });

export type ResourceOptions = v.InferOutput<typeof resourceSchema>;

/** What decides about a token. */
export interface TokenRules {
  readonly server: AuthorizationServer;
  readonly audience: string | undefined;
  readonly clients: 'any' | ReadonlySet<string> | JudgeClient;
  readonly firstParty: boolean;
}

interface Read<Schema extends OptionsSchema> {
  readonly options: v.InferOutput<Schema>;
  readonly rules: TokenRules;
}

/** @throws {ConfigurationError} with every problem at once */
export function readResourceOptions(definition: Adapter, given: unknown): Read<typeof resourceSchema> {
  return readTokenOptions('protectResource', definition, resourceSchema, given, resourceProblems(definition, given));
}

/**
 * @param caller the called function, for the message
 * @param further problems that the schema does not find
 * @throws {ConfigurationError} with every problem at once
 */
export function readTokenOptions<Schema extends OptionsSchema>(
  caller: string,
  { authorizationServer: server }: Adapter,
  schema: Schema,
  given: unknown,
  further: readonly string[] = [],
): Read<Schema> {
  if (!isRecord(given)) throw new ConfigurationError(caller, ["options must be an object, such as { path: '/mcp' }"]);
  // An unset variable would leave out what is to restrict access.
  const unset = Object.keys(given).filter((name) => given[name] === undefined);
  const parsed = v.safeParse(schema, given);
  const problems = [
    ...problemsOf(parsed, schema).filter((problem) => !unset.some((name) => problem.startsWith(`${name} `))),
    ...unset.map((name) => `${name} is undefined; give it a value or leave it out`),
    ...tokenProblems(server, given),
    ...further,
  ];
  if (!parsed.success || server === undefined || problems.length > 0) throw new ConfigurationError(caller, problems);
  const { audience, clients = 'any', firstParty = false } = parsed.output as Partial<ResourceOptions>;
  const rules = { server, audience, clients: Array.isArray(clients) ? new Set(clients) : clients, firstParty };
  return { options: parsed.output, rules };
}

type Given = Readonly<Record<string, unknown>>;

function tokenProblems(server: AuthorizationServer | undefined, { clients, firstParty }: Given): readonly string[] {
  if (server === undefined) {
    return [
      'authkitDomain (env B2B_AUTHKIT_DOMAIN) of b2bAuth() is missing: the AuthKit domain, under Domains in the WorkOS dashboard, such as example.authkit.app',
    ];
  }
  if (!server.hasFirstParty) {
    return firstParty === undefined ? [] : ['firstParty belongs to backendAuth(): no session of b2bAuth() passes'];
  }
  return [
    ...(clients === undefined
      ? ["clients is missing: the ids of the OAuth clients that may call, or 'any' that your users allow"]
      : []),
    ...(firstParty === true && clients !== 'any' ? ["firstParty needs clients: 'any'"] : []),
  ];
}

function resourceProblems({ authorizationServer, appBaseUrl, ownPaths }: Adapter, given: unknown): readonly string[] {
  if (!isRecord(given)) return [];
  const { path: at, audience } = given;
  const covered = at !== '/' && v.is(path, at) ? [coveredBy(at)] : [];
  const isCovered = createPathMatcher(covered);
  const own = [...ownPaths.values()].filter((route) => isCovered(route.path));
  const isFixed = appBaseUrl !== undefined || audience !== undefined || authorizationServer?.bindsResource !== true;
  return [
    ...own.map(
      (route) =>
        `path covers '${route.path}', which is ${route.option ?? 'a file for the pages'} of the adapter; choose another path`,
    ),
    ...(isFixed || !isProduction()
      ? []
      : [
          'in production the audience must not follow the Host header, which callers choose; set appBaseUrl of the adapter, or audience here',
        ]),
  ];
}

/** The pattern of a path and everything below. */
export function coveredBy(at: string): string {
  return at === '/' ? '/(.*)' : `${at}/(.*)`;
}
