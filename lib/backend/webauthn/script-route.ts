import { createAssetHash } from '../../http/reply.ts';
import type { AuthRoute } from '../../http/router.ts';
import type { BackendOptions } from '../options.ts';
import { passkeyScript } from './script.ts';

const scriptHash = createAssetHash(passkeyScript);

/** The query of the script's URL, with its content hash, so that browsers may keep it for a year. */
export const scriptQuery = (): string => `?v=${scriptHash()}`;

/** The script of the pages that ask for a passkey or a security key. */
export function passkeyScriptRoute({ passkeyScriptPath }: BackendOptions): AuthRoute {
  return {
    path: passkeyScriptPath,
    option: 'passkeyScriptPath',
    get({ query }) {
      const isImmutable = query.get('v') === scriptHash();
      const type = 'text/javascript; charset=utf-8';
      return { status: 200, body: { kind: 'asset', type, text: passkeyScript, isImmutable } };
    },
  };
}
