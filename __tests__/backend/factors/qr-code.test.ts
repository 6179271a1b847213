import { encode } from 'uqr';
import { render } from '../../../lib/tools/html.ts';
import { qrCode } from '../../../lib/backend/factors/qr-code.ts';

const uri = 'otpauth://totp/Northwind:ada@example.com?issuer=Northwind&secret=JBSWY3DPEHPK3PXP';

/** The modules that the path fills, row by row: `#` is dark. */
function drawn(svg: string): string[] {
  const size = Number(/viewBox="0 0 (\d+) \1"/.exec(svg)?.[1]);
  const rows = Array.from({ length: size }, () => Array<string>(size).fill(' '));
  for (const [, x, y, length] of svg.matchAll(/M(\d+) (\d+)h(\d+)v1h-\3z/g)) {
    rows[Number(y)]?.fill('#', Number(x), Number(x) + Number(length));
  }
  return rows.map((row) => row.join(''));
}

it('a QR code has every dark module of the text, with medium error correction and a quiet zone of four modules', async () => {
  const svg = render(await qrCode(uri, 'QR code'));
  const { data } = encode(uri, { ecc: 'M', border: 4 });
  expect(drawn(svg)).toEqual(data.map((row) => row.map((isDark) => (isDark ? '#' : ' ')).join('')));
});

it('a QR code is one path of runs, with its label', async () => {
  const svg = render(await qrCode(uri, 'QR code'));
  expect(svg).toMatch(
    /^<svg class="qr" [^>]*aria-label="QR code"[^>]*><rect [^>]*\/><path d="(?:M\d+ \d+h\d+v1h-\d+z)+" [^>]*\/><\/svg>$/,
  );
  const rows = drawn(svg);
  const runs = rows.join('\n').match(/#+/g)?.length;
  expect(svg.match(/M/g)).toHaveLength(runs ?? 0);
});
