import { html } from '../../tools/html.ts';
import type { Html } from '../../tools/html.ts';

/** Modules of quiet zone around the code (ISO/IEC 18004 §5.3.8). */
const quietZone = 4;

/**
 * A QR code as inline SVG: it needs no image and no style, so it works under a strict CSP. It stays
 * dark on light in every color scheme, because scanners need that.
 *
 * @param label the accessible name for screen readers
 */
export async function qrCode(text: string, label: string): Promise<Html> {
  const { encode } = await import('uqr');
  const { data, size } = encode(text, { ecc: 'M', border: quietZone });
  const path = data
    .flatMap((row, y) => runsOf(row).map(([x, length]) => `M${x} ${y}h${length}v1h-${length}z`))
    .join('');
  return html`<svg class="qr" viewBox="0 0 ${size} ${size}" width="208" height="208" role="img" aria-label="${label}" shape-rendering="crispEdges"><rect width="${size}" height="${size}" fill="#fff"/><path d="${path}" fill="#000"/></svg>`;
}

/** The dark stretches of a row, each with its start and length. */
function runsOf(row: readonly boolean[]): readonly (readonly [start: number, length: number])[] {
  const runs: [number, number][] = [];
  row.forEach((isDark, x) => {
    const last = runs.at(-1);
    if (!isDark) return;
    if (last !== undefined && last[0] + last[1] === x) last[1] += 1;
    else runs.push([x, 1]);
  });
  return runs;
}
