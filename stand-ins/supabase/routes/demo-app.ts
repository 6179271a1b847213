import { createHash, randomBytes } from 'node:crypto';
import { page, redirect } from '../http.ts';
import type { Reply, StandInRequest } from '../http.ts';
import type { OAuthClient } from '../oauth-server.ts';
import type { Project } from '../project.ts';

/** An application that asks the project's users for their account, as an MCP client on this device would. */
export function createDemoApp({ url: origin, oauthServer, sessions, users }: Project) {
  const redirectUri = `${origin}/demo-app/callback`;
  const verifiers = new Map<string, string>();
  let client: OAuthClient | undefined;

  function start(): Reply {
    client ??= oauthServer.register({ name: 'Demo app', redirectUris: [redirectUri] });
    const [state, verifier] = [randomBytes(12).toString('hex'), randomBytes(32).toString('base64url')];
    verifiers.set(state, verifier);
    const query = new URLSearchParams({
      response_type: 'code',
      client_id: client.id,
      redirect_uri: redirectUri,
      scope: 'openid email',
      state,
      code_challenge: createHash('sha256').update(verifier).digest('base64url'),
      code_challenge_method: 'S256',
    });
    return redirect(302, `${origin}/auth/v1/oauth/authorize?${query.toString()}`);
  }

  async function callback({ url }: StandInRequest): Promise<Reply> {
    const state = url.searchParams.get('state') ?? '';
    const verifier = verifiers.get(state);
    verifiers.delete(state);
    if (verifier === undefined || client === undefined) return say('Start again', 'This answer was used before.');
    if (url.searchParams.has('error')) return say('Not connected', 'You did not allow it.');
    const user = users.get(oauthServer.exchange(url.searchParams.get('code') ?? '', client, verifier));
    if (user === undefined) return say('Not connected', 'The account is gone.');
    const options = { method: 'oauth_provider/authorization_code', claims: { client_id: client.id } };
    await sessions.issue(user, options);
    return say(
      'Connected',
      'The demo app has an access token and a refresh token. Disconnect it under “Connected apps”.',
    );
  }

  return { start, callback };
}

function say(heading: string, text: string): Reply {
  return page(
    200,
    `<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>Demo app</title><h1>${heading}</h1><p>${text}</p></html>`,
  );
}
