import { createAssetHash } from '../../http/reply.ts';
import type { AuthRoute } from '../../http/router.ts';
import type { PageScript } from '../../pages/page.ts';
import type { BackendOptions } from '../options.ts';
import type { PageRequest, Site } from '../slots.ts';
import { scriptText } from '../webauthn/script.ts';

const scriptHash = createAssetHash(scriptText);

/** The script as a page loads it, with its content hash, so that browsers may keep it for a year. @param paths of ours that it calls there */
export function pageScript(
  { settings: { scriptPath } }: Pick<Site, 'settings'>,
  request: PageRequest,
  ...paths: readonly string[]
): PageScript {
  return {
    href: `${request.localPath(scriptPath)}?v=${scriptHash()}`,
    url: request.publicUrl(scriptPath),
    calls: paths.map((path) => request.publicUrl(path)),
  };
}

/** The script of the built-in pages. */
export function scriptRoute({ scriptPath }: BackendOptions): AuthRoute {
  return {
    path: scriptPath,
    get({ query }) {
      const isImmutable = query.get('v') === scriptHash();
      const type = 'text/javascript; charset=utf-8';
      return { status: 200, body: { kind: 'asset', type, text: scriptText, isImmutable } };
    },
  };
}
