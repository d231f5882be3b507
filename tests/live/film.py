"""A film of a disc that lies still, on a ground of many greys."""
import random
import subprocess

DISC = 240, 190  # its middle, px


def make_film(folder):
    """Writes disc.mp4, four seconds of 640x360 at 25 Hz; returns its name."""
    from PIL import Image, ImageDraw
    rng = random.Random(1)
    picture = Image.new('RGB', (640, 360), (60, 90, 70))
    draw = ImageDraw.Draw(picture)
    for _ in range(300):
        x, y, grey = rng.randrange(640), rng.randrange(360), rng.randrange(40, 110)
        draw.ellipse((x - 9, y - 9, x + 9, y + 9), fill=(grey, grey + 20, grey))
    draw.ellipse((190, 140, 290, 240), fill=(225, 225, 240))
    picture.save(f'{folder}/disc.png')
    subprocess.run(['gst-launch-1.0', '-q', 'filesrc', f'location={folder}/disc.png', '!', 'pngdec', '!', 'imagefreeze',
                    'num-buffers=100', '!', 'video/x-raw,framerate=25/1', '!', 'videoconvert', '!', 'x264enc', '!',
                    'mp4mux', '!', 'filesink', f'location={folder}/disc.mp4'], check=True, timeout=60)
    return f'{folder}/disc.mp4'
