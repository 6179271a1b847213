import { ask, parseObject } from '../../doctor/ask.ts';
import type { OpenProject, Project } from '../../doctor/project.ts';
import type { Add } from '../../doctor/report.ts';
import { defined, isRecord } from '../../tools/json.ts';

/** The settings say whether passkeys are on, and a challenge for which relying party; nothing says for which origins. */
export async function checkPasskeys({ settings, ...project }: OpenProject, add: Add): Promise<void> {
  const isEnabled = settings['passkeys_enabled'];
  // Older versions know no passkeys.
  if (typeof isEnabled !== 'boolean') return;
  const values = { isEnabled };
  if (!isEnabled) {
    add('note', 'passkeys', 'Passkeys are off in this project: leave passkey out of signInMethods', { values });
    return;
  }
  const id = await askRelyingParty(project);
  const { hostname, origin } = new URL(project.context.appUrl);
  if (/^(?:\[.*\]|\d+(?:\.\d+){3})$/.test(hostname)) {
    add('note', 'passkeys', `Passkeys are on, but browsers have none on an IP address such as ${hostname}`, {
      fix: 'Open the application at its domain, or at localhost.',
      values: { ...values, ...defined({ relyingPartyId: id }) },
    });
    return;
  }
  const isDomain = id === undefined || hostname === id || hostname.endsWith(`.${id}`);
  const party = id === undefined ? 'their relying party ID must be the application’s domain' : `they belong to ${id}`;
  if (isDomain) {
    add('note', 'passkeys', `Passkeys are on: passkey in signInMethods offers them, and ${party}`, {
      fix: `This key cannot read their relying party origins: list ${origin} there.`,
      values: { ...values, ...defined({ relyingPartyId: id }) },
    });
    return;
  }
  add(
    'note',
    'passkeys',
    `Passkeys are on for ${id}, so browsers refuse them on ${hostname}, where this application is`,
    {
      fix: `Before you put passkey into signInMethods, make ${hostname}, or a domain above it, the relying party ID under Passkeys, and list ${origin} as an origin. Passkeys that exist then stop working.`,
      values: { ...values, relyingPartyId: id },
    },
  );
}

/** It is in each challenge of a sign-in, which a publishable key may ask for. A project with a captcha gives none. */
async function askRelyingParty({ options, context }: Project): Promise<string | undefined> {
  const { url, anonKey } = options;
  const reply = await ask(`${url}/auth/v1/passkeys/authentication/options`, context, { apikey: anonKey }, '{}');
  const given = reply.kind === 'answered' && reply.status === 200 ? parseObject(reply.text)?.['options'] : undefined;
  const id = isRecord(given) ? given['rpId'] : undefined;
  return typeof id === 'string' && /^[\w.-]{1,253}$/.test(id) ? id.toLowerCase() : undefined;
}
