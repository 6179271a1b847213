/**
 * The script of the built-in pages, which work without it, too. `tools/page-script.ts` writes it, minified, into
 * `lib/backend/webauthn/script.ts`.
 */
import { setUpCeremonies } from '../webauthn/ceremonies.ts';
import { setUpReveal } from './reveal.ts';

setUpReveal();
setUpCeremonies();
