import * as v from 'valibot';
import { group, misspelledName, queryParameters, text } from '../../options/shared.ts';
import type { OptionsOf } from '../../options/shared.ts';

/** Supabase's provider names, including `custom:` ones; safe in a URL and in a log. */
export const providerName = /^(?:custom:)?[a-z0-9][a-z0-9_-]{0,63}$/;

const provider = v.pipe(
  text('a provider’s name, such as github'),
  v.regex(providerName, ({ input }) => `must be a provider’s name in lower case, ${exampleFor(input)}`),
);

/** Supabase's providers that people use most; it may gain others. */
const known = ['apple', 'azure', 'bitbucket', 'discord', 'facebook', 'figma', 'github', 'gitlab', 'google', 'keycloak'];

/** The provider that a name most likely means. */
function misspelled(name: string): string | undefined {
  return providerName.test(name) && !name.startsWith('custom:') ? misspelledName(name, known) : undefined;
}

const problemOf = (name: string): string => `must be a provider’s name; did you mean ${misspelled(name) ?? 'github'}?`;

/** @param given what is no name */
function exampleFor(given: string): string {
  const name = given.trim().toLowerCase().replace(/\s+/g, '_');
  return providerName.test(name) ? `write ${name}` : 'such as github';
}

const optionalText = v.optional(v.string('must be a string'));

/**
 * What the sign-in sets in the URL of Supabase's own route, and what Supabase sets in the provider's URL. GoTrue passes on every
 * other name.
 *
 * @see https://github.com/supabase/auth/blob/master/internal/api/external.go
 */
const flowParameters: ReadonlySet<string> = new Set([
  'apikey',
  'client_id',
  'client_secret',
  'code_challenge',
  'code_challenge_method',
  'code_verifier',
  'invite_token',
  'nonce',
  'provider',
  'redirect_to',
  'redirect_uri',
  'response_mode',
  'response_type',
  'scope',
  'scopes',
  'skip_http_redirect',
  'state',
]);

/** Further parameters of an OAuth provider's sign-in URL. */
const providerParameters = queryParameters(v.string('must hold strings'), {
  form: /^[\w.-]{1,64}$/,
  example: 'access_type',
  isOwn: (name) => flowParameters.has(name.toLowerCase()),
});

const providerParts = {
  /** The text on its button. Default: the name as its owner writes it. */
  label: optionalText,
  /** Scopes to ask for beyond Supabase's own, separated by blanks. */
  scopes: optionalText,
  /**
   * Further parameters of the provider's own sign-in URL, such as `{ access_type: 'offline', prompt: 'consent' }` for Google.
   * Names that belong to the sign-in itself are refused.
   */
  queryParams: v.optional(providerParameters),
};

export interface OAuthProviderOptions extends OptionsOf<typeof providerParts> {
  /** Supabase's name for it, such as `github`. Required. */
  readonly name: string;
}

export const oauthEntries = {
  /** Buttons of the built-in pages and, where not empty, the only providers that may be used. Default: none, any may be used. */
  providers: v.optional(
    v.array(
      v.pipe(
        v.union(
          [
            v.pipe(
              provider,
              v.transform((name) => ({ name })),
            ),
            group<OAuthProviderOptions>({ name: provider, ...providerParts }),
          ],
          'must be a provider’s name such as github, or { name, label?, scopes?, queryParams? }',
        ),
        v.check(
          ({ name }) => misspelled(name) === undefined,
          ({ input: { name } }) => problemOf(name),
        ),
      ),
      'must be a list of providers',
    ),
    [],
  ),
  /** Starts OAuth with this provider instead of showing a sign-in page. */
  defaultProvider: v.optional(
    v.pipe(
      provider,
      v.check(
        (name) => misspelled(name) === undefined,
        ({ input }) => problemOf(input),
      ),
    ),
  ),
};

/** The options that are a way in by themselves, and when they are set. */
export const oauthWaysIn = {
  providers: (value: unknown): boolean => Array.isArray(value) && value.length > 0,
  defaultProvider: (value: unknown): boolean => value !== undefined,
};

/** A provider may be listed once. */
export function providerProblems({ providers }: Readonly<Record<string, unknown>>): string[] {
  if (!Array.isArray(providers)) return [];
  const names = providers.map((each: unknown) =>
    typeof each === 'object' && each !== null && 'name' in each ? each.name : each,
  );
  const twice = names.filter((name, index) => names.indexOf(name) !== index);
  return [...new Set(twice)].map((name) => `providers names ${JSON.stringify(name)} twice`);
}
